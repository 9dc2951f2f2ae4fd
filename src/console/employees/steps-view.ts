import { html, type SafeHtml } from '@remix-run/html-template'
import { inLanguage } from '../../texts/failures.ts'
import { isSaid } from '../../texts/message.ts'
import { FULL_STOP, type TextValues } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { fieldName } from '../cases/parts.ts'
import { foreign, state, type Tone, time, withCode } from '../ui/parts.ts'
import type { StepResult } from './query.ts'

/** Translates a comma-separated list of field names, as the steps of an attempt hold it. */
export function fieldNames(ask: Ask, list: string): string {
  return list
    .split(', ')
    .map(field => fieldName(ask, field))
    .join(ask.t('common.list_comma'))
}

// The steps of an attempt

const STEP_TONES: Record<StepResult['state'], Tone> = {
  done: 'ok',
  skipped: 'off',
  failed: 'bad',
  waiting: 'wait',
}

/**
 * The five steps of an attempt, each with its state, its result and what to do.
 * @param unread text for a row that was not read yet, unless that is because no run has seen the employee
 */
export function steps(ask: Ask, items: readonly StepResult[], unread?: string): SafeHtml {
  const { t } = ask
  return html`<ol class="steps">${items.map(
    item => html`<li><span>${state(STEP_TONES[item.state], t(`step.${item.step}`))}</span>
      <span>${
        item.text === 'not_reached' ? '' : html`<span class="soft">${t(`step_state.${item.state}`)}</span> · `
      }${unread !== undefined && item.text === 'read_not_yet' ? unread : stepText(ask, item)}${item.at ? html` <span class="soft">${time(ask, item.at)}</span>` : ''}</span>${
        item.remedy
          ? html`<span class="todo">${withCode(inLanguage(ask.language, item.remedy))}${
              item.case_id
                ? html` <a href="/cases/${item.case_id}">${t('employees.open_case', { id: item.case_id })}</a>`
                : ''
            }</span>`
          : ''
      }</li>`,
  )}</ol>`
}

function stepText(ask: Ask, { text, values }: StepResult): SafeHtml {
  const said = values.message
  const given: TextValues = {
    ...{ fields: '', count: 0, held: '', merchant: '' },
    ...(values as TextValues),
    message: isSaid(said) ? inLanguage(ask.language, said) : '',
  }
  if (typeof given.fields === 'string') given.fields = fieldNames(ask, given.fields)
  if (typeof given.held === 'string') given.held = fieldNames(ask, given.held)
  const next = typeof values.next === 'string' ? new Date(values.next) : null
  return html`${foreign(ask.t(`step.${text}`, given))}${
    next ? html` ${ask.t('employees.asked_again')} ${time(ask, next)}${FULL_STOP[ask.language]}` : ''
  }`
}
