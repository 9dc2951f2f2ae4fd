import { SingleBar } from 'cli-progress'
import type { TimeLeft } from '../core/time-left.ts'
import type { RunProgress } from '../store/run.ts'
import { shortTimeLeft, timeLeftText } from './time-left-text.ts'

/** What a person sees while a run goes on. */
export interface Progress {
  /** @param timeLeft null while that is not known */
  show(progress: RunProgress, timeLeft?: TimeLeft | null): void
  end(): void
}

/** A bar on a terminal, a line per tenth elsewhere, nothing when quiet. */
export function createProgress(label: string, quiet: boolean): Progress {
  if (quiet) return { show() {}, end() {} }
  return process.stderr.isTTY ? bar(label) : lines(label)
}

function bar(label: string): Progress {
  const bar = new SingleBar({
    format: `  ${label.padEnd(12)} {bar} {value}/{total}  {state}`,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 32,
    hideCursor: true,
    stream: process.stderr,
  })
  bar.start(0, 0, { state: 'planning' })
  return {
    show({ planned, left, state }, timeLeft) {
      bar.setTotal(planned)
      bar.update(planned - left, { state: timeLeft && state === 'running' ? shortTimeLeft(timeLeft) : state })
    },
    end: () => bar.stop(),
  }
}

function lines(label: string): Progress {
  let told = -1
  return {
    show({ planned, left, state }, timeLeft) {
      if (state !== 'running' && state !== 'done') return
      const tenth = planned === 0 ? 10 : Math.floor((10 * (planned - left)) / planned)
      if (tenth === told) return
      told = tenth
      const ends = timeLeft && state === 'running' ? `  ${timeLeftText(timeLeft)}` : ''
      process.stderr.write(`  ${label.padEnd(12)} ${planned - left}/${planned}${ends}\n`)
    },
    end() {},
  }
}
