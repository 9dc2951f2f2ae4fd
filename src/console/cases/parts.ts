import type { SafeHtml } from '@remix-run/html-template'
import { qualified } from '../../directory/employee.ts'
import { shortened } from '../../lib/text.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { jobName, jobPath } from '../schedules/view.ts'
import { term, type Words } from '../shown.ts'
import { tabs } from '../ui/parts.ts'
import { employeePath } from '../ui/paths.ts'

/* Parts that several pages of cases share. */

/** Longer names are cut in lists; the page of the case shows them in full. */
const MOST_SHOWN = 60

export function short(text: string): string {
  return shortened(text, MOST_SHOWN)
}

/** Where cases are not retried when they are due. */
export function retriesStopped(ask: Ask): Words[] {
  return [
    ask.t('cases.next.stopped', { job: jobName(ask, 'retry-due') }),
    { to: jobPath('retry-due'), text: ask.t('common.details') },
  ]
}

export function categoryName({ language }: Ask, category: string): string {
  return textOr(language, `category.${category}`, category)
}

export function operationName({ language }: Ask, operation: string): string {
  return textOr(language, `operation.${operation}`, operation)
}

export function fieldName({ language }: Ask, field: string): string {
  return textOr(language, `field.${field}`, field)
}

/** A key with the enterprise that it belongs to. */
export function caseKey(row: { enterprise_code: string; entity_key: string; entity?: string }): string {
  const { enterprise_code, entity_key, entity } = row
  return short(entity === 'enterprise' ? entity_key : qualified(enterprise_code, entity_key))
}

/** The same, with the name behind it. */
export function keyWords(row: { enterprise_code: string; entity_key: string; entity?: string }): Words {
  return [{ code: caseKey(row) }, nameOfKey(row)]
}

export function nameOfKey(row: { enterprise_code: string; entity_key: string; entity?: string }): Words {
  const { entity, entity_key, enterprise_code: enterpriseCode } = row
  if (entity === 'employee') return { nameOf: { enterpriseCode, userid: entity_key } }
  return entity === 'department' ? { nameOf: { enterpriseCode, deptCode: entity_key } } : null
}

/** Who has the value that a case wants, or may no longer have it. */
export function holderWords(
  { t }: Ask,
  of: { enterprise_code: string; blocked_by: string | null; holder_has_changed?: boolean },
): Words {
  if (of.blocked_by === null) return null
  const holder = holderLink(of.enterprise_code, of.blocked_by)
  return of.holder_has_changed
    ? [holder, ' ', t('cases.blocker_changed')]
    : [t('cases.blocked_by'), ' ', holder]
}

/** The holder of a value, with the page that tells more. */
export function holderLink(enterpriseCode: string, userid: string): Words {
  return {
    to: employeePath({ enterpriseCode, userid }),
    text: [{ code: short(userid) }, { nameOf: { enterpriseCode, userid } }],
  }
}

/** The field that failed, or else the operation. */
export function itemOf({ operation, field }: { operation: string; field: string }): Words {
  return field === '' ? term('operation', operation) : term('field', short(field))
}

/** Category, and the platform's code beside it. */
export function cause(of: { category: string; platform_code: number | null }): Words {
  const code = of.platform_code === null ? null : { soft: [' ', String(of.platform_code)] }
  return [term('category', short(of.category)), code]
}

/** The tabs of the case pages. */
export function caseTabs({ t }: Ask, current: 'list' | 'groups' | 'bulk'): SafeHtml {
  return tabs(t('cases.views'), [
    { href: '/cases', text: t('cases.tab_list'), current: current === 'list' },
    { href: '/cases/groups', text: t('cases.tab_groups'), current: current === 'groups' },
    { href: '/bulk', text: t('cases.tab_bulk'), current: current === 'bulk' },
  ])
}
