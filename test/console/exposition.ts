import { expect } from 'vitest'

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"'
const SAMPLE = new RegExp(`^(${NAME})(?:\\{(${LABEL}(?:,${LABEL})*)\\})? (\\S+)$`)
const SUFFIXES: Record<string, string[]> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
}

interface Family {
  type: string
  help: string
}

interface Exposition {
  families: Map<string, Family>
  /** Series as written, `name{label="value"}`, to its value. */
  series: Map<string, number>
}

/**
 * Reads Prometheus' text format line by line, strictly: every family with HELP and TYPE, its samples in one group below
 * them, no series twice, every value a number, the last line ended.
 */
export function parseExposition(text: string): Exposition {
  expect(text.endsWith('\n')).toBe(true)
  const families = new Map<string, Family>()
  const series = new Map<string, number>()
  let help: { name: string; text: string } | null = null
  let family: { name: string; type: string } | null = null
  for (const line of text.split('\n')) {
    if (line === '') continue
    if (line.startsWith('# HELP ')) {
      const [, name = '', words = ''] = line.match(/^# HELP (\S+) (.+)$/) ?? []
      expect(families.has(name), `a second family ${name}`).toBe(false)
      expect(words, line).not.toBe('')
      help = { name, text: words }
    } else if (line.startsWith('# TYPE ')) {
      const [, name = '', type = ''] = line.match(/^# TYPE (\S+) (counter|gauge|histogram|summary)$/) ?? []
      expect(name, line).toBe(help?.name)
      families.set(name, { type, help: help?.text ?? '' })
      family = { name, type }
    } else {
      const [, name, labels, value = ''] = line.match(SAMPLE) ?? []
      const permitted = (SUFFIXES[family?.type ?? ''] ?? ['']).map(suffix => `${family?.name}${suffix}`)
      expect(permitted, line).toContain(name)
      expect(Number.isNaN(Number(value.replace('Inf', 'Infinity'))), line).toBe(value === 'Nan')
      const key = labels === undefined ? `${name}` : `${name}{${labels}}`
      expect(series.has(key), `the series ${key} twice`).toBe(false)
      series.set(key, Number(value))
    }
  }
  return { families, series }
}

/** The series of one family, without the histograms' parts. */
export function seriesOf({ series }: Exposition, name: string): Record<string, number> {
  return Object.fromEntries([...series].filter(([key]) => key === name || key.startsWith(`${name}{`)))
}
