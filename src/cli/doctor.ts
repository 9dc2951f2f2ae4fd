import type { Command } from 'commander'
import { loadConfig } from '../config.ts'
import { accountOf } from '../connections.ts'
import { createPool } from '../lib/database.ts'
import { createLogger } from '../lib/logger.ts'
import { readDeployment } from '../sync/deployment.ts'
import type { Language } from '../texts/texts.ts'
import {
  examineAccount,
  examineDatabase,
  examineQueue,
  examineSchedules,
  examineService,
  examineSettings,
  type Finding,
  failed,
  warning,
} from './examine.ts'
import { examineHr, examinePlatform } from './examine-remote.ts'
import { FailedError, sentenceOf } from './failure.ts'
import { said, say, speak } from './language.ts'
import { coloured, pad, plain, print, printJson, terminalWidth, wrap } from './output.ts'
import { openSettings } from './settings.ts'

/** `dirsync doctor`: everything that has to be right, one line each. */
export function doctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check settings, databases, queue, mapping, clock and credentials')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
One line per check: ok, warn (works, but read it) or FAIL, with what to do.
Exit 1 when something fails.
Nothing is changed, except that an access token is created where there is none.
Where the platform refuses the application (1000210003), doctor tries the other
signature algorithms, once each, and names the one that works.

Examples:
  dirsync doctor
  docker compose run --rm dirsync doctor`,
    )
    .action(doctor)
}

async function doctor(options: { json?: true }): Promise<void> {
  const { findings, language } = await examine()
  const isWell = findings.every(({ status }) => status !== 'failed')
  if (options.json) printJson({ ok: isWell, findings })
  else {
    speak(language)
    printFindings(findings)
  }
  if (!isWell) throw new FailedError('')
}

/** Checks everything in the order in which it is needed; what depends on something that is wrong is left out. */
async function examine(): Promise<{ findings: Finding[]; language: Language }> {
  const { findings, checked } = examineSettings()
  if (!checked) return { findings, language: 'en' }
  // Whatever is wrong is a finding; the log would say it a second time.
  const logger = createLogger({ level: 'silent', pretty: false })
  await using opened = new AsyncDisposableStack()
  try {
    const { config } = opened.use(await openSettings(checked, loadConfig, logger))
    findings.push(...examineSchedules(config))
    const pool = createPool(config.DATABASE_URL, { max: 4, name: 'doctor', logger })
    opened.defer(() => pool.end())
    const database = await examineDatabase(pool, config.DATABASE_URL, checked.program)
    findings.push(...database.findings)
    const deployment = database.isReady ? await readDeployment(pool) : null
    if (database.isReady) findings.push(examineAccount(deployment, accountOf(config)))
    findings.push(...(await examineQueue(config)))
    findings.push(...(await examineHr(config, deployment, logger)))
    if (database.isReady) {
      findings.push(...(await examinePlatform(config, pool, logger)))
      findings.push(...(await examineService(pool, checked.program)))
    } else findings.push(warning('platform', 'not checked: the token and the pacer live in the database'))
  } catch (error) {
    // Something that no check foresaw is a finding too, and what was found by then stays.
    findings.push(failed('dirsync', sentenceOf(error)))
  }
  return { findings, language: checked.language }
}

const LABELS = { ok: 'ok', warning: 'warn', failed: 'FAIL' }

function printFindings(findings: Finding[]): void {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const indent = ' '.repeat(4 + 2 + width + 2)
  const room = terminalWidth() - indent.length
  for (const { status, check, what, remedy = '' } of findings) {
    const label = say(`shell.doctor.${status}`)
    const remedies = wrap(plain(said(remedy)), room - 2).map((line, i) => `${i === 0 ? '→ ' : '  '}${line}`)
    const [first = '', ...rest] = wrap(plain(said(what)), room)
    print(`${coloured(LABELS[status], pad(label, 4))}  ${pad(check, width)}  ${first}`)
    print(...[...rest, ...remedies].map(line => indent + line))
  }
}
