import { html, type SafeHtml } from '@remix-run/html-template'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { inLanguage } from '../../texts/failures.ts'
import { type Taste, tasteOf } from '../ask.ts'
import { OPEN } from '../auth/viewer.ts'
import {
  isProblem,
  PROBLEMS,
  Problem,
  type ProblemDocument,
  type ProblemKind,
  problemStatus,
} from '../problem.ts'
import { bare } from '../ui/layout.ts'
import { code, empty, facts, table, withCode } from '../ui/parts.ts'

/**
 * A problem in the reader's words: as an error page says it, and as programs are told it.
 * @param hasSearch whether there is a search above
 */
export function problemTexts(
  problem: Problem,
  { t, language, zone }: Pick<Taste, 't' | 'language'> & { zone?: string },
  reference: string,
  hasSearch = false,
) {
  const { retryAfter = 0, values, titleKey, remedyKey } = problem
  const told = { reference, seconds: retryAfter, role: '', ...values }
  return {
    title: t(titleKey),
    detail: inLanguage(language, problem.said, zone),
    remedy:
      problem.kind === 'not_found' && !hasSearch
        ? t('problem.not_found')
        : remedyKey
          ? t(remedyKey, told)
          : '',
  }
}

export function problemDocument(problem: Problem, request: FastifyRequest): z.infer<typeof ProblemDocument> {
  const { language, t } = tasteOf(request)
  const said = problemTexts(problem, { t, language }, request.id)
  const { detail, remedy } = said
  // A program has no page.
  const title = problem.kind === 'not_found' ? t('api.not_found') : said.title
  const errors = problem.errors.map(({ path, code, said, header }) => ({
    ...(header === undefined ? placeOf(path, request) : { header }),
    detail: inLanguage(language, said),
    code,
  }))
  return {
    type: typeOf(problem.kind),
    title,
    status: problem.status,
    ...(detail || remedy ? { detail: detail || remedy } : {}),
    instance: `urn:uuid:${request.id}`,
    code: problem.kind,
    reference: request.id,
    ...(errors.length > 0 ? { errors } : {}),
  }
}

const typeOf = (kind: ProblemKind) => `/problems/${kind}`

function placeOf(path: readonly PropertyKey[], { method }: FastifyRequest) {
  if (path.length === 0) return {}
  if (method !== 'POST') return { parameter: String(path[0]) }
  const escaped = path.map(name => String(name).replaceAll('~', '~0').replaceAll('/', '~1'))
  return { pointer: `#/${escaped.join('/')}` }
}

/** The pages that the types of problems lead to. They are open, because one of them is how to sign in. */
export function explainProblems(app: FastifyInstance): void {
  const send = (request: FastifyRequest, page: (taste: Taste) => { title: string; body: SafeHtml }) => {
    const taste = tasteOf(request)
    return String(bare(taste, page(taste)))
  }
  app.get('/problems', { schema: { hide: true }, config: OPEN }, async (request, reply) =>
    reply.type('text/html; charset=utf-8').send(send(request, kindsPage)),
  )
  app.get<{ Params: { kind: string } }>(
    '/problems/:kind',
    { schema: { hide: true }, config: OPEN },
    async (request, reply) => {
      const { kind } = request.params
      if (!isProblem(kind)) throw new Problem('not_found')
      const page = ({ t }: Taste) => ({
        title: t(`error.${kind}`),
        body: html`<h1>${t(`error.${kind}`)}</h1>
          <p>${withCode(t(`problem.${kind}`))}</p>
          ${facts([
            [t('api.status'), code(problemStatus(kind))],
            [t('api.problem_code'), code(kind)],
          ])}
          <p><a href="/problems">${t('api.problems')}</a></p>`,
      })
      return reply.type('text/html; charset=utf-8').send(send(request, page))
    },
  )
}

function kindsPage({ t }: Taste) {
  return {
    title: t('api.problems'),
    body: html`<h1>${t('api.problems')}</h1>
      <p>${t('api.problems_intro')}</p>
      ${table(
        PROBLEMS,
        [
          { title: t('api.problem_code'), kind: 'main', cell: kind => kind },
          { title: t('api.status'), cell: kind => String(problemStatus(kind)) },
          { title: t('api.meaning'), cell: kind => t(`error.${kind}`) },
        ],
        { caption: t('api.problems'), empty: empty(''), href: typeOf },
      )}`,
  }
}
