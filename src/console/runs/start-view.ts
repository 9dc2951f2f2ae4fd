import { html, type SafeHtml } from '@remix-run/html-template'
import { capitalised } from '../../lib/text.ts'
import { KINDS_BY_SOURCE } from '../../sync/runs/run.ts'
import type { Ask } from '../ask.ts'
import type { Block } from '../shown.ts'
import { actionForm, duration, type Field, figure, head } from '../ui/parts.ts'
import { drawBlocks } from '../ui/shown.ts'
import { STARTED, type StartPageResult } from './query.ts'
import { kindName } from './words.ts'

type StartedKind = (typeof STARTED)[number]

/** What can be started, what each kind does, and what it costs. */
export function startBody(ask: Ask, page: StartPageResult): SafeHtml {
  const { t } = ask
  return html`${head(t('runs.start'))}
    ${drawBlocks(ask, missingProcesses(ask, page.roles_alive, true))}
    <ul class="choices">${STARTED.map(
      kind => html`<li>
        <h2>${capitalised(kindName(ask, kind))}</h2>
        <p>${t(`runs.does.${kind}`)}</p>
        <p class="soft">${costOf(ask, kind, page)}</p>
        ${actionForm(ask, {
          to: '/runs',
          label: t('runs.start_kind', { kind: kindName(ask, kind) }),
          role: 'operator',
          folded: false,
          ...(kind === 'changes' ? { tone: 'main' as const } : {}),
          fields: [
            { name: 'kind', type: 'hidden', value: kind },
            ...fieldsOf(ask, kind),
            ...sourceField(ask, kind, page),
          ],
        })}
        ${kind === 'changes' ? preview(ask, page) : ''}
      </li>`,
    )}</ul>`
}

/** What a run would do: a dry run of the SELECT in use, of each source by itself. */
function preview(ask: Ask, { sources }: StartPageResult): SafeHtml[] {
  const { t } = ask
  return (sources.length === 0 ? [null] : sources).map(source =>
    actionForm(ask, {
      to: '/mapping/dry-runs',
      label: source === null ? t('runs.preview') : t('runs.preview_of', { source }),
      role: 'operator',
      folded: false,
      fields: source === null ? [] : [{ name: 'source', type: 'hidden', value: source }],
    }),
  )
}

function fieldsOf({ t }: Ask, kind: StartedKind): Field[] {
  if (kind === 'full')
    return [
      {
        name: 'max_age',
        label: t('runs.max_age'),
        choices: [
          { value: '', text: t('runs.max_age.none') },
          ...(['1h', '6h', '1d', '7d'] as const).map(value => ({ value, text: t(`runs.max_age.${value}`) })),
        ],
      },
    ]
  if (kind === 'employees')
    return [
      {
        name: 'employees',
        label: t('runs.employees'),
        type: 'textarea',
        required: true,
        maxlength: 60_000,
        hint: t('runs.employees.hint'),
      },
    ]
  return []
}

/** The choice of the source, for kinds that run separately for each HR source. */
function sourceField({ t }: Ask, kind: StartedKind, { sources }: StartPageResult): Field[] {
  if (sources.length === 0 || !KINDS_BY_SOURCE.some(own => own === kind)) return []
  return [
    {
      name: 'source',
      label: t('runs.source'),
      choices: [
        { value: '', text: t('runs.source.each') },
        ...sources.map(name => ({ value: name, text: name })),
      ],
    },
  ]
}

/** The cost in calls, and in time if the rate is known. */
function costOf(ask: Ask, kind: StartedKind, page: StartPageResult): string {
  const { t } = ask
  if (kind !== 'full' || page.employees === 0) return t(`runs.costs.${kind}`)
  const { employees, permitted_per_second: rate } = page
  return rate
    ? t('runs.costs.full_in', {
        calls: figure(ask, employees),
        time: duration(ask, (employees / rate) * 1000),
      })
    : t('runs.costs.full_calls', { calls: figure(ask, employees) })
}

/**
 * Warns that no process is running that would do the work.
 * @param ahead the run is still to be started
 */
export function missingProcesses({ t }: Ask, roles: Record<string, number>, ahead = false): Block[] {
  const missing = (['scheduler', 'worker'] as const).filter(role => !roles[role])
  return missing.map(role => ({
    notice: 'bad',
    title: t(`overview.no_${role}`),
    todo: t(`overview.no_${role}.remedy`),
    next: ahead ? t('runs.waits_for_process') : null,
  }))
}
