import { actorText } from '../texts/actor.ts'
import { failureTexts, runMessage } from '../texts/failures.ts'
import { durationText, numbers, percentText } from '../texts/figures.ts'
import { type Language, type TextValues, textOr, translator } from '../texts/texts.ts'
import type { Finding, RuleName } from './rule.ts'

/** An alert in words. */
export interface AlertText {
  /** A few words: what and of what. */
  title: string
  /** One or two sentences with the figures. */
  what: string
  /** What to do. */
  remedy: string
  /** One sentence for when it has ended. */
  over: string
}

/** Says an alert in a language. Facts that an earlier version did not write down are left blank. */
export function alertText(language: Language, alert: Pick<Finding, 'rule' | 'subject' | 'facts'>): AlertText {
  const t = translator(language)
  const facts = new FactReader(alert.facts)
  const values = { subject: alert.subject, ...VALUES[alert.rule](language, facts, alert.subject) }
  return {
    title: t(`alert.${alert.rule}.title`, values),
    what: t(`alert.${alert.rule}.what`, values),
    remedy: t(`alert.${alert.rule}.remedy`, values),
    over: t(`alert.${alert.rule}.over`, values),
  }
}

/** The runbook of a rule: short steps. */
export function runbookOf(language: Language, rule: RuleName): string[] {
  return translator(language)(`runbook.${rule}`).split('\n')
}

/** Facts come out of the database as they were written, perhaps by an earlier version. */
class FactReader {
  readonly #facts: Finding['facts']

  constructor(facts: Finding['facts']) {
    this.#facts = facts
  }

  text(name: string): string {
    return String(this.#facts[name] ?? '')
  }

  number(name: string): number {
    return Number(this.#facts[name] ?? 0)
  }

  has(name: string): boolean {
    return (this.#facts[name] ?? null) !== null
  }

  /** As they are: for texts that need no more. */
  numbers(...names: string[]): TextValues {
    return Object.fromEntries(names.map(name => [name, this.number(name)]))
  }
}

type Values = (language: Language, facts: FactReader, subject: string) => TextValues

/** What the text of each rule names, made from its facts. */
const VALUES: Record<RuleName, Values> = {
  halt: (language, facts) => {
    const { message, remedy } = failureTexts(language, storedFailure(facts))
    return {
      place: facts.has('source')
        ? translator(language)('halts.hr_source', { source: facts.text('source') })
        : placeText(language, facts.text('scope')),
      message: sentence(language, message),
      remedy: sentence(language, remedy),
    }
  },
  paused: (language, facts) => {
    const by = facts.text('by')
    const { message } = failureTexts(language, storedFailure(facts))
    const name = actorText({ t: translator(language) }, by)
    return {
      message: sentence(
        language,
        message.replace(by, () => name),
      ),
    }
  },
  held_run: (language, facts) => ({
    run: facts.text('run'),
    kind: kindText(language, facts),
    planned: facts.number('planned'),
  }),
  source_suspect: (language, facts) => ({
    run: facts.text('run'),
    kind: kindText(language, facts),
    message: sentence(language, runMessage(language, { message: facts.text('message') }) ?? ''),
  }),
  run_overdue: (language, facts, subject) => ({
    kind: kindText(language, facts, subject),
    lasted: facts.has('age_seconds') ? 'long' : 'never',
    age: durationText(language, facts.number('age_seconds') * 1000),
    interval: durationText(language, facts.number('interval_seconds') * 1000),
  }),
  cases_jump: (language, facts, subject) => ({
    category: textOr(language, `category.${subject}`, subject),
    ...facts.numbers('count', 'rise'),
  }),
  out_of_step: (language, facts) => ({
    // Rounded down: a share that is too low never looks like one that would do.
    share: percentText(language, Math.floor(facts.number('share') * 1e4) / 1e4),
    ...facts.numbers('in_step', 'in_scope'),
  }),
  work_stuck: (language, facts) => ({
    operation: textOr(language, `operation.${facts.text('operation')}`, facts.text('operation')),
    count: facts.number('count'),
    age: durationText(language, facts.number('age_seconds') * 1000),
  }),
  money_unknown: (_, facts) => facts.numbers('count', 'for_person'),
  calls_rejected: (language, facts) => ({
    share: percentText(language, facts.number('share')),
    ...facts.numbers('rejected', 'calls'),
  }),
  role_missing: (language, _, subject) => ({
    role: textOr(language, `process_role.${subject}`, subject),
  }),
  notification_misfit: (_, facts) => ({ count: facts.number('count'), latest: facts.text('latest') }),
  clock: (language, facts) => ({ seconds: durationText(language, Math.abs(facts.number('seconds')) * 1000) }),
  tokens: (_, facts) => facts.numbers('count'),
  queue_away: () => ({}),
  database_full: (language, facts, subject) => {
    const amount = (name: string) =>
      subject === 'size' ? bytesText(language, facts.number(name)) : count(language, facts.number(name))
    return {
      used: amount('used'),
      limit: amount('limit'),
      percent: percentText(language, facts.number('share')),
    }
  },
  database_slow: (_, facts) => ({ milliseconds: Math.round(facts.number('milliseconds')) }),
  database_away: () => ({}),
  dead_channel: (_, facts) => ({ answer: facts.has('answer') ? facts.text('answer') : 'none' }),
}

/** A halt as the database has it. */
function storedFailure(facts: FactReader) {
  return { category: facts.text('category'), message: facts.text('message'), remedy: facts.text('remedy') }
}

function placeText(language: Language, scope: string): string {
  const t = translator(language)
  if (scope === '*') return t('halts.everything')
  return scope === '' ? t('halts.own_enterprise') : t('halts.enterprise', { code: scope })
}

/** The kind of runs, of which source of HR. */
function kindText(language: Language, facts: FactReader, otherwise = ''): string {
  const kind = facts.has('kind') ? facts.text('kind') : otherwise
  const text = textOr(language, `run_kind.${kind}`, kind)
  return facts.has('source') ? `${text}, ${facts.text('source')}` : text
}

/** A stored text as a sentence that another one may follow. */
function sentence(language: Language, text: string): string {
  const trimmed = text.trim()
  if (trimmed === '' || /[.!?。！？]$/.test(trimmed)) return trimmed
  return trimmed + (language === 'zh-CN' ? '。' : '.')
}

function count(language: Language, value: number): string {
  return numbers(language, {}).format(value)
}

/** In the unit of ALERT_DATABASE_GB. */
function bytesText(language: Language, bytes: number): string {
  const style = { style: 'unit', unit: 'gigabyte', maximumFractionDigits: 1 } as const
  return numbers(language, style).format(bytes / 1e9)
}
