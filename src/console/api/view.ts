import { html, type SafeHtml } from '@remix-run/html-template'
import type { Describe } from '../../texts/beside.ts'
import type { TextKey } from '../../texts/texts.ts'
import { isTextKey } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { type Column, code, copyable, empty, facts, head, section, table, withCode } from '../ui/parts.ts'
import { type ApiField, type ApiOperation, apiFieldsOf, type Schema } from './operations.ts'

/** Every operation, grouped by screen. */
export function apiBody(ask: Ask, describe: Describe, operations: readonly ApiOperation[]): SafeHtml {
  const { t, origin } = ask
  const byTag = Map.groupBy(operations, ({ tags }) => tags[0] ?? '')
  return html`${head(t('api.title'))}
    <div class="stack">
      <p>${t('api.intro')}</p>
      <p>${t('api.token')}${ask.may('admin') ? html` <a href="/access/tokens">${t('access.add_token')}</a>` : ''}</p>
      ${copyable(t, 'npx dirsync tokens add my-script --role viewer --expires 90d')}
      <p>${t('api.try')}</p>
      ${copyable(t, `curl '${origin}/api/v1/overview' -H "Authorization: Bearer $TOKEN"`)}
      <p><a href="/api/v1/openapi.json">/api/v1/openapi.json</a> (OpenAPI 3.1)</p>
      <p>${t('api.refusals')} <a href="/problems">${t('api.problems')}</a></p>
      <p>${withCode(t('api.started'))}</p>
      <p>${withCode(t('api.keys'))}</p>
      <p>${withCode(t('api.follow'))}</p>
    </div>
    ${[...byTag].map(([tag, group]) =>
      section(
        isTextKey(`nav.${tag}`) ? t(`nav.${tag}` as TextKey) : tag,
        table(
          group,
          [
            { title: t('api.method'), cell: ({ method }) => code(method) },
            { title: t('api.path'), kind: 'main', cell: ({ path }) => path },
            { title: t('api.summary'), cell: ({ summary }) => withCode(describe(summary)) },
            { title: t('api.role'), cell: ({ role }) => roleName(ask, role) },
          ],
          {
            caption: tag,
            empty: empty('–'),
            href: ({ operationId }) => `/api?operation=${operationId}`,
          },
        ),
      ),
    )}`
}

function roleName({ t }: Ask, role: string): string {
  return isTextKey(`role.${role}`) ? t(`role.${role}` as TextKey) : role
}

export function operationBody(ask: Ask, describe: Describe, operation: ApiOperation): SafeHtml {
  const { t, origin } = ask
  const { parameters, body, answer } = operation
  const fields = <Row extends ApiField>(
    title: string,
    rows: readonly Row[],
    none: string,
    more: Column<Row>[] = [],
  ) =>
    section(
      title,
      table(
        rows,
        [
          { title: t('api.name'), kind: 'main', cell: ({ name }) => code(name) },
          ...more,
          { title: t('api.type'), cell: ({ schema }) => typeOf(schema) },
          { title: t('api.required'), cell: ({ required }) => t(required ? 'common.yes' : 'common.no') },
          { title: t('api.meaning'), cell: ({ description }) => withCode(describe(description)) },
        ],
        { caption: title, empty: empty(none) },
      ),
    )
  return html`${head(html`<code>${operation.method} ${operation.path}</code>`)}
    <p>${withCode(describe(operation.summary))}</p>
    ${facts([
      [t('api.role'), roleName(ask, operation.role)],
      [t('api.scopes'), operation['x-scopes'].join(', ')],
      [t('api.operation'), code(operation.operationId)],
      [t('api.status'), code(operation.status)],
    ])}
    ${
      parameters.length > 0
        ? fields(t('api.parameters'), parameters, '', [{ title: t('api.in'), cell: one => one.in }])
        : ''
    }
    ${body ? fields(t('api.body'), apiFieldsOf(body), typeOf(body)) : ''}
    ${answer ? fields(t('api.answer'), apiFieldsOf(answer), typeOf(answer)) : ''}
    ${section(t('api.example'), copyable(t, example(operation, origin)))}`
}

function typeOf(schema: Schema): string {
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (options) return [...new Set(options.map(typeOf))].join(' | ')
  if (schema.enum) return (schema.enum as unknown[]).map(String).join(' | ')
  if (schema.const !== undefined) return String(schema.const)
  if (schema.type === 'array') return `${typeOf((schema.items ?? {}) as Schema)}[]`
  const type = [schema.type ?? 'any'].flat().join(' | ')
  return schema.format ? `${type} (${schema.format})` : type
}

function example({ method, path, body }: ApiOperation, origin: string): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${origin}${path}' \\`,
    `  -H "Authorization: Bearer $TOKEN"`,
  ]
  if (!body) return lines.join('\n')
  const required = apiFieldsOf(body).filter(({ name, required }) => required && !/[.[]/.test(name))
  const values = Object.fromEntries(required.map(({ name, schema }) => [name, typeOf(schema)]))
  return [
    ...lines.slice(0, -1),
    `${lines.at(-1)} -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(values)}'`,
  ].join('\n')
}
