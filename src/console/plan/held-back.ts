import { z } from 'zod'
import { MOST_COUNTED, type Pool } from '../../lib/database.ts'
import { byCount } from '../../texts/figures.ts'
import type { Ask } from '../ask.ts'
import { type Block, joined, type Terms, term, type Words } from '../shown.ts'

/** What a rejection holds back today. */
export const HeldBack = z.object({
  employees: z.int().describe('Employees who still differ by it, at most 10000'),
  departments: z.int().describe('Departments that are still not deleted by it'),
  more: z.boolean().describe('true: there are more employees'),
  reasons: z.record(z.string(), z.int()),
  fields: z.record(z.string(), z.int()),
  since: z.date().nullable().describe('When HR’s rows were first planned'),
})
export type HeldBack = z.infer<typeof HeldBack>

/** What was rejected of a run's plan and still differs, as the latest plans saw HR; null: nothing does. */
export async function heldBack(db: Pool, run: number): Promise<HeldBack | null> {
  const { rows } = await db.query<HeldBack>(
    `with planned as materialized (
       (select w.reason, w.fields from dirsync.plan_decision d
        join dirsync.planned_work w on w.run_id = $1 and w.decision_id = d.id
        join dirsync.employee e on w.operation = 'update-employee' and e.enterprise_code = w.enterprise_code
          and e.userid = w.entity_key and e.held_run = $1 and e.rejected
        where d.run_id = $1 and not d.approved limit ${MOST_COUNTED} + 1)
       union all
       (select w.reason, w.fields from dirsync.employee e
        left join dirsync.planned_work w on w.run_id = $1 and w.operation = 'update-employee'
          and w.enterprise_code = e.enterprise_code and w.entity_key = e.userid
        where e.held_run = $1 and e.rejected
          -- As a whole: it was not decided in parts.
          and (select r.state = 'rejected' and r.undecided is null from dirsync.sync_run r where r.id = $1)
        limit ${MOST_COUNTED} + 1)
     ), departments as (
       select count(*)::int as n from dirsync.department where rejected_run = $1 and deleted_at is null
     ), reasons as (
       select reason, count(*)::int as n from planned where reason is not null group by 1
       union all select 'delete', n from departments where n > 0
     ), fields as (
       select field, count(*)::int as n from planned, unnest(fields) as f (field) group by 1
     )
     select least(count(*), ${MOST_COUNTED})::int as employees, count(*) > ${MOST_COUNTED} as more,
            (select n from departments) as departments,
            coalesce((select jsonb_object_agg(reason, n) from reasons), '{}') as reasons,
            coalesce((select jsonb_object_agg(field, n) from fields), '{}') as fields,
            (select planned_at from dirsync.sync_run where id = $1) as since
     from planned`,
    [run],
  )
  const [held] = rows
  return held && held.employees + held.departments > 0 ? held : null
}

/** What a rejected plan holds back, on the pages of its run. */
export function heldBackShown(
  { t }: Ask,
  { run, undecided, held_back: held }: { run: number; undecided: number | null; held_back: HeldBack | null },
): Block[] {
  if (!held) return []
  const counts = (of: Terms, figures: Record<string, number>): Words =>
    joined(
      byCount(figures).map(([name, n]) => [term(of, name), ' ', n]),
      t('common.list_comma'),
    )
  const { employees, departments, more, reasons, fields, since } = held
  return [
    {
      section: t('plan.held_back'),
      id: 'held-back',
      blocks: [
        {
          facts: [
            [
              t('plan.held_back.employees'),
              employees > 0
                ? {
                    to: `/runs/${run}/plan${undecided === null ? '' : '?decision=rejected'}#entities`,
                    text: [more ? '≥ ' : '', employees],
                  }
                : null,
            ],
            [t('plan.held_back.departments'), departments > 0 ? departments : null],
            [t('plan.by_reason'), counts('reason', reasons)],
            [t('plan.by_field'), counts('field', fields)],
            [t('plan.held_back.since'), since && { since, exact: true }],
          ],
        },
        // No one can ask for a single department.
        { text: { soft: t(employees > 0 ? 'plan.held_back.until' : 'plan.held_back.until_hr') } },
      ],
    },
  ]
}
