import { html, type SafeHtml } from '@remix-run/html-template'
import { inLanguage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { employeeLabel } from '../employees/key.ts'
import {
  actionForm,
  alert,
  bar,
  code,
  copyable,
  empty,
  facts,
  figure,
  foreign,
  head,
  masked,
  percent,
  section,
  state,
  table,
  time,
} from '../ui/parts.ts'
import { casesPath, employeePath, mappingPath } from '../ui/paths.ts'
import type { TriedResult } from './query.ts'
import type { MappingResult } from './read.ts'

/** What HR's columns become, how full they are, and which rows break rules. */
export function mappingBody(ask: Ask, mapping: MappingResult, tried: TriedResult | null): SafeHtml {
  const { t, language } = ask
  const { employees, departments } = mapping
  return html`${head(t('mapping.title'), {
    actions: [
      actionForm(ask, {
        to: '/mapping/try',
        label: t('mapping.try'),
        role: 'operator',
        fields: [
          {
            name: 'key',
            label: t('employees.userid'),
            required: true,
            maxlength: 400,
            hint: t('mapping.try_hint'),
          },
        ],
      }),
      html`<a class="button" href="/mapping/dry-runs${mapping.source && `?source=${mapping.source}`}">${t('mapping.dry_runs')}</a>`,
    ],
  })}
  ${sourceChoice(ask, mapping)}
  ${mapping.error === null ? '' : alert('bad', t('mapping.broken'), foreign(inLanguage(language, mapping.error)))}
  ${tried === null ? '' : triedSection(ask, tried)}
  ${facts([
    [t('mapping.enterprises'), mapping.enterprise_codes?.map(code => code || '–').join(', ') ?? null],
    [t('mapping.file'), employees && code(employees.file)],
    [
      t('mapping.since'),
      // Which mapping it is shows only once HR answers.
      mapping.since ? time(ask, mapping.since) : mapping.error === null ? t('mapping.not_used') : null,
    ],
    [
      t('mapping.rows'),
      mapping.rows === null
        ? null
        : html`${figure(ask, mapping.rows)} <span class="soft">${time(ask, mapping.read_at)}</span>`,
    ],
  ])}
  ${section(t('mapping.columns'), columns(ask, mapping))}
  ${
    mapping.unmanaged.length === 0
      ? ''
      : section(
          t('mapping.unmanaged'),
          html`<p>${mapping.unmanaged
            .map(field => textOr(language, `field.${field}`, field))
            .join(t('common.list_comma'))}</p><p class="soft">${t('mapping.unmanaged_note')}</p>`,
        )
  }
  ${employees ? section(t('mapping.select'), copyable(t, employees.sql), { aside: employees.file }) : ''}
  ${departments ? section(t('mapping.select_departments'), copyable(t, departments.sql), { aside: departments.file }) : ''}
  ${mapping.history.length < 2 ? '' : section(t('mapping.history'), history(ask, mapping))}`
}

/** Choice of the HR source to show, if there are several. */
function sourceChoice({ t }: Ask, { source, sources }: MappingResult): SafeHtml {
  if (sources.length === 0) return html``
  return html`<p>${t('runs.source')}: ${sources.map(
    name =>
      html`${name === source ? html`<strong>${name}</strong>` : html`<a href="${mappingPath(name)}">${name}</a>`} `,
  )}</p>`
}

function columns(ask: Ask, mapping: MappingResult): SafeHtml {
  const { t, language } = ask
  return table(
    mapping.columns,
    [
      { title: t('mapping.column'), cell: ({ source }) => code(source) },
      {
        title: t('mapping.field'),
        cell: ({ name }) => html`${textOr(language, `field.${name}`, name)}`,
      },
      { title: t('mapping.type'), kind: 'spare', cell: ({ type }) => code(type) },
      {
        title: t('mapping.empty'),
        kind: 'number',
        cell: ({ empty: share }) =>
          share === null ? null : html`${percent(ask, share)}${bar(share, share === 1 ? 'warn' : 'ok')}`,
      },
      {
        title: t('mapping.rule_breaks'),
        kind: 'number',
        cell: ({ name, broken }) => {
          if (broken === 0) return null
          const count = state('warn', figure(ask, broken))
          const to = casesOf(mapping, name)
          return to === null ? count : html`<a href="${to}">${count}</a>`
        },
      },
    ],
    { caption: t('mapping.columns'), empty: empty(t('mapping.no_columns'), t('mapping.no_columns.remedy')) },
  )
}

/** The list of the cases that a column counts; null: no filter has those of several enterprises, or of the one without a code. */
function casesOf({ enterprise_codes: codes }: MappingResult, field: string): string | null {
  const [enterprise, ...others] = codes ?? [undefined]
  if (others.length > 0 || enterprise === '') return null
  return casesPath({ categories: ['invalid_hr_row'], field, enterprise })
}

function history(ask: Ask, mapping: MappingResult): SafeHtml {
  const { t } = ask
  return table(
    mapping.history,
    [
      { title: t('mapping.fingerprint'), cell: ({ fingerprint }) => code(fingerprint.slice(0, 12)) },
      { title: t('mapping.first'), cell: ({ first }) => time(ask, first) },
      { title: t('mapping.last'), cell: ({ last }) => time(ask, last) },
    ],
    { caption: t('mapping.history'), empty: empty('') },
  )
}

function triedSection(ask: Ask, tried: TriedResult): SafeHtml {
  const { t, language } = ask
  const key = { enterpriseCode: tried.enterprise_code, userid: tried.userid }
  const others = tried.problems.filter(({ field }) => !tried.fields.some(row => row.field === field))
  return section(
    t('mapping.tried', { employee: employeeLabel(key) }),
    html`${
      tried.error === null
        ? html`<p>${t(`employees.hr.${tried.hr}`)} <a href="${employeePath(key)}">${t('mapping.to_employee')}</a></p>`
        : alert('bad', t('employees.hr.unknown'), foreign(inLanguage(language, tried.error)))
    }
    ${others.map(({ message }) => alert('bad', foreign(inLanguage(language, message))))}
    ${
      tried.fields.length === 0
        ? ''
        : table(
            tried.fields,
            [
              {
                title: t('employees.field'),
                cell: ({ field }) => textOr(language, `field.${field}`, field),
              },
              {
                title: t('employees.in_hr'),
                cell: ({ value }) => masked(ask, value),
              },
              {
                title: t('mapping.rule'),
                cell: ({ problem }) =>
                  problem === null ? null : state('bad', inLanguage(language, problem)),
              },
            ],
            { caption: t('mapping.tried', { employee: employeeLabel(key) }), empty: empty('') },
          )
    }`,
    { id: 'tried', aside: t('employees.masked') },
  )
}
