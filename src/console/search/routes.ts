import { html, type SafeHtml } from '@remix-run/html-template'
import { z } from 'zod'
import { beginning } from '../../lib/text.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { namedDepartment } from '../departments/view.ts'
import { namedEmployee, statusState } from '../employees/list-view.ts'
import { type Endpoint, read } from '../endpoint.ts'
import type { Services } from '../services.ts'
import { type Column, empty, foreign, head, section, since, state, table } from '../ui/parts.ts'
import { departmentPath, employeePath } from '../ui/paths.ts'
import { caseState, runState } from '../ui/states.ts'
import { SearchResult, searchEverything } from './read.ts'

/** Hits shown per kind; type more to narrow them down. */
const HITS = 20

export function search({ pool }: Services): Endpoint[] {
  return [
    read({
      path: '/search',
      tag: 'overview',
      role: 'viewer',
      summary: 'Cases and runs by number; employees and departments by the beginning of their keys',
      query: z.object({
        q: z
          .string()
          .trim()
          .max(200)
          .default('')
          .describe('`#17` or `17`, `run 12`, a user id, an open id, or a department code'),
      }),
      result: SearchResult,
      run: (_ask, { input }) => searchEverything(pool, input.q, HITS),
      page(ask, found, { input }) {
        const [only, ...others] = addresses(found)
        if (only && others.length === 0) return { to: only }
        return { title: ask.t('search.title'), body: searchBody(ask, found, input.q) }
      },
    }),
  ]
}

function addresses({ cases, runs, employees, departments }: SearchResult): string[] {
  return [
    ...cases.map(({ id }) => `/cases/${id}`),
    ...runs.map(({ id }) => `/runs/${id}`),
    ...employees.map(row => employeePath({ enterpriseCode: row.enterprise_code, userid: row.userid })),
    ...departments.map(row => departmentPath(row.enterprise_code, row.dept_code)),
  ]
}

function searchBody(ask: Ask, found: SearchResult, q: string): SafeHtml {
  const { t, language } = ask
  const { cases, runs, employees, departments } = found
  const none = empty('')
  if (addresses(found).length === 0)
    return html`${head(t('search.title'))}${empty(
      q === '' ? t('search.nothing_asked') : t('search.nothing', { text: beginning(q, 80) }),
      html`${t('search.hint')}${
        q === ''
          ? ''
          : html` <a href="${employeePath({ enterpriseCode: '', userid: q })}">${t('employees.not_found.remedy')}</a>`
      }`,
    )}`
  return html`${head(t('search.found', { text: beginning(q, 80) }))}
  ${
    cases.length === 0
      ? ''
      : section(
          t('nav.cases'),
          table(
            cases,
            [
              { title: t('employees.case'), kind: 'main', cell: ({ id }) => `#${id}` },
              { title: t('employees.state'), cell: row => caseState(ask, row.state) },
              {
                title: t('employees.what'),
                cell: ({ category }) => textOr(language, `category.${category}`, category),
              },
              { title: t('search.key'), cell: row => foreign(row.entity_key) },
            ],
            { caption: t('nav.cases'), empty: none, href: ({ id }) => `/cases/${id}` },
          ),
        )
  }
  ${
    runs.length === 0
      ? ''
      : section(
          t('nav.runs'),
          table(
            runs,
            [
              { title: t('employees.run'), kind: 'main', cell: ({ id }) => `#${id}` },
              { title: t('overview.kind'), cell: ({ kind }) => textOr(language, `run_kind.${kind}`, kind) },
              { title: t('employees.state'), cell: row => runState(ask, row.state) },
              { title: t('overview.requested'), cell: row => since(ask, row.requested_at) },
            ],
            { caption: t('nav.runs'), empty: none, href: ({ id }) => `/runs/${id}` },
          ),
        )
  }
  ${
    employees.length === 0
      ? ''
      : section(
          t('nav.employees'),
          table(
            employees,
            [
              { title: t('employees.userid'), kind: 'main', cell: row => namedEmployee(ask, row) },
              ...enterpriseOf(ask, employees),
              { title: t('employees.status'), cell: row => statusState(ask, row.status) },
            ],
            {
              caption: t('nav.employees'),
              empty: none,
              href: row => employeePath({ enterpriseCode: row.enterprise_code, userid: row.userid }),
            },
          ),
          { aside: employees.length === HITS ? t('search.more') : '' },
        )
  }
  ${
    departments.length === 0
      ? ''
      : section(
          t('nav.departments'),
          table(
            departments,
            [
              { title: t('employees.department'), kind: 'main', cell: row => namedDepartment(ask, row) },
              ...enterpriseOf(ask, departments),
              { title: t('employees.state'), cell: row => departmentWord(ask, row) },
            ],
            {
              caption: t('nav.departments'),
              empty: none,
              href: row => departmentPath(row.enterprise_code, row.dept_code),
            },
          ),
          { aside: departments.length === HITS ? t('search.more') : '' },
        )
  }`
}

/** The enterprise column, if there are several enterprises. */
function enterpriseOf<Row extends { enterprise_code: string }>(
  { t }: Ask,
  rows: readonly Row[],
): Column<Row>[] {
  if (rows.every(({ enterprise_code }) => enterprise_code === '')) return []
  return [{ title: t('employees.enterprise'), cell: row => foreign(row.enterprise_code || null) }]
}

function departmentWord({ t }: Ask, { active, deleted_at }: SearchResult['departments'][number]): SafeHtml {
  if (deleted_at !== null) return state('off', t('departments.deleted'))
  return active ? state('ok', t('departments.open')) : state('wait', t('departments.closed'))
}
