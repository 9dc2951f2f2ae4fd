import { html } from '@remix-run/html-template'
import { inLanguage } from '../../texts/failures.ts'
import type { Ask } from '../ask.ts'
import { type Block, isNothing, joined, tableOf, type Words } from '../shown.ts'
import { actionForm, copyable, withCode } from '../ui/parts.ts'
import type { SetupResult, SetupStep } from './setup.ts'

/** How far is this deployment, and what is the next step? Nothing once all is done. */
export function setupBlocks(ask: Ask, { ended, is_sample, own_lines, steps }: SetupResult): Block[] {
  const { t } = ask
  if (ended !== null) return []
  const done = steps.filter(({ state }) => state === 'done').length
  return [
    {
      section: t('setup.title'),
      id: 'setup',
      aside: t('setup.done', { done, total: steps.length }),
      blocks: [
        ...(is_sample ? [{ text: { soft: t('setup.sample') } }] : []),
        tableOf(
          steps,
          [
            { title: t('setup.step'), kind: 'main', of: ({ step }) => t(`setup.step.${step}`) },
            {
              title: t('setup.state'),
              of: ({ state }) => ({ tone: TONES[state], text: t(`setup.state.${state}`) }),
            },
            { title: t('setup.todo'), of: step => todoOf(ask, step) },
          ],
          { caption: t('setup.title') },
        ),
        ...steps
          .filter(({ lines }) => lines.length > 0)
          .flatMap(({ step, lines }): Block[] => [
            { text: t('setup.lines', { step: t(`setup.step.${step}`), count: lines.length }) },
            { copy: lines.join('\n') },
          ]),
        ...(own_lines.length > 0
          ? [
              {
                drawn: html`<details><summary>${t('setup.own')}</summary><div class="stack"><p>${withCode(t('setup.own_lines'))}</p>${copyable(t, own_lines.join('\n'))}</div></details>`,
              },
            ]
          : []),
        {
          drawn: html`<div class="row">${actionForm(ask, {
            to: '/setup/dismiss',
            label: t('setup.dismiss'),
            role: 'admin',
            folded: true,
            warning: t('setup.dismiss.warning'),
          })}</div>`,
        },
      ],
    },
  ]
}

/** The same in one sentence, for the shell. */
export function setupLine({ t, language }: Ask, { ended, steps }: SetupResult): Block[] {
  const left = steps.filter(({ state }) => state !== 'done')
  if (ended !== null || left.length === 0) return []
  const names = new Intl.ListFormat(language).format(left.map(({ step }) => t(`setup.step.${step}`)))
  return [{ text: t('setup.left', { left: names }) }]
}

const TONES = { done: 'ok', next: 'busy', waits: 'wait', failed: 'bad' } as const

/** Why it failed, what is missing, and where to go. */
function todoOf(ask: Ask, step: SetupStep): Words {
  const { t, language } = ask
  const { state, waits_for, missing, reason, more } = step
  if (state === 'done' && missing === null) return null
  if (waits_for !== null) return t('setup.waits_for', { step: t(`setup.step.${waits_for}`) })
  const words = [
    reason === null ? null : { foreign: inLanguage(language, reason) },
    more === 0 ? null : { to: '/halts', text: t('state_bar.more', { count: more }) },
    missing === null ? null : t(`setup.missing.${missing}`),
    placeOf(ask, step),
  ]
  return joined(
    words.filter(word => !isNothing(word)),
    ' ',
  )
}

/** Where it is done, for those who may. */
function placeOf({ t, may }: Ask, { step, missing, run, state }: SetupStep): Words {
  const link = (to: string, text: string) => ({ to, text })
  if (run !== null)
    return missing === 'approval'
      ? link(`/runs/${run}/plan`, t('setup.to.plan'))
      : link(`/runs/${run}`, t('setup.to.run', { run: String(run) }))
  if (step === 'channel') return missing === 'channel_unset' ? null : link('/alerts', t('setup.to.alerts'))
  if (step === 'colleague') return may('admin') ? link('/access#new-user', t('setup.to.access')) : null
  if (missing === 'run') return link('/runs/new', t('setup.to.new_run'))
  if (missing === 'warnings') return may('admin') ? link('/doctor', t('common.details')) : null
  if (missing === 'examination' || state === 'failed')
    return may('admin') ? link('/doctor', t('setup.to.doctor')) : t('setup.admins')
  return null
}
