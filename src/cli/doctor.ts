import type { Command } from 'commander'
import { type Config, ConfigError, environment, loadConfig } from '../config.ts'
import { examine } from '../doctor/examine.ts'
import { type CheckResult, failed } from '../doctor/finding.ts'
import { settingsFailures, settingsFindings } from '../doctor/settings.ts'
import { createLogger } from '../lib/logger.ts'
import type { Language } from '../texts/texts.ts'
import { nothingHere } from './context.ts'
import { FailedError, saidOf } from './failure.ts'
import { said, say, shellLanguage, speak } from './language.ts'
import { colours, pad, plain, print, printJson, terminalWidth, wrap } from './output.ts'
import { type CheckedSettings, checkSettings, isTrialHere, openSettings } from './settings.ts'

/** `dirsync doctor`: every check, one line each. */
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
  const { findings, language } = await examineAll()
  const isWell = findings.every(({ status }) => status !== 'failed')
  if (options.json) printJson({ ok: isWell, findings })
  else {
    speak(language)
    printFindings(findings)
  }
  if (!isWell) throw new FailedError('')
}

async function examineAll(): Promise<{ findings: CheckResult[]; language: Language }> {
  const env = environment()
  let checked: CheckedSettings
  try {
    checked = checkSettings()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { findings: settingsFailures(error, env), language: shellLanguage() }
  }
  // Problems are reported as findings; the log would repeat them.
  const logger = createLogger({ level: 'silent', pretty: false })
  await using opened = new AsyncDisposableStack()
  let config: Config
  try {
    if (checked.embedded && !isTrialHere()) throw nothingHere(checked)
    config = opened.use(await openSettings(checked, loadConfig, logger, { isSaid: true })).config
  } catch (error) {
    // There are no embedded parts, or they failed to start.
    const findings = [...settingsFindings(env, checked.embedded), failed('dirsync', saidOf(error))]
    return { findings, language: checked.language }
  }
  const findings: CheckResult[] = []
  for await (const finding of examine({ config, env, program: checked.program, logger }))
    findings.push(finding)
  return { findings, language: checked.language }
}

const COLOURS = { ok: colours.green, warning: colours.yellow, failed: colours.red }

function printFindings(findings: CheckResult[]): void {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const indent = ' '.repeat(4 + 2 + width + 2)
  const room = terminalWidth() - indent.length
  for (const { status, check, what, remedy = [] } of findings) {
    const label = say(`shell.doctor.${status}`)
    const remedies = wrap(plain(said(remedy)), room - 2).map((line, i) => `${i === 0 ? '→ ' : '  '}${line}`)
    const [first = '', ...rest] = wrap(plain(said(what)), room)
    print(`${COLOURS[status](pad(label, 4))}  ${pad(check, width)}  ${first}`)
    print(...[...rest, ...remedies].map(line => indent + line))
  }
}
