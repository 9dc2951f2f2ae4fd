import { html, type SafeHtml } from '@remix-run/html-template'
import { descriptionText } from '../../texts/beside.ts'
import type { TextKey } from '../../texts/texts.ts'
import { isTextKey } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { code, copyable, empty, facts, head, section, table, withCode } from '../ui/parts.ts'
import type { ApiOperation } from './operations.ts'

/** Every operation, grouped by screen. */
export function apiBody(ask: Ask, operations: readonly ApiOperation[], origin: string): SafeHtml {
  const { t } = ask
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
            { title: t('api.summary'), cell: ({ summary }) => descriptionText(ask.language, summary) },
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

export function operationBody(ask: Ask, operation: ApiOperation, origin: string): SafeHtml {
  const { t } = ask
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema
  const answer = Object.values(operation.responses[operation.status]?.content ?? {})[0]?.schema
  return html`${head(html`<code>${operation.method} ${operation.path}</code>`)}
    <p>${descriptionText(ask.language, operation.summary)}</p>
    ${facts([
      [t('api.role'), roleName(ask, operation.role)],
      [t('api.scopes'), operation['x-scopes'].join(', ')],
      [t('api.operation'), code(operation.operationId)],
      [t('api.status'), code(operation.status)],
    ])}
    ${
      operation.parameters.length > 0
        ? section(
            t('api.parameters'),
            table(
              operation.parameters,
              [
                { title: t('api.name'), kind: 'main', cell: ({ name }) => code(name) },
                { title: t('api.in'), cell: parameter => parameter.in },
                { title: t('api.type'), cell: ({ schema }) => typeOf(schema) },
                {
                  title: t('api.required'),
                  cell: ({ required }) => t(required ? 'common.yes' : 'common.no'),
                },
                {
                  title: t('api.meaning'),
                  cell: ({ schema, description }) => description || textOf(schema.description),
                },
              ],
              { caption: t('api.parameters'), empty: empty('–') },
            ),
          )
        : ''
    }
    ${body ? section(t('api.body'), fieldsTable(ask, t('api.body'), body)) : ''}
    ${answer ? section(t('api.answer'), fieldsTable(ask, t('api.answer'), answer)) : ''}
    ${section(t('api.example'), copyable(t, example(operation, origin, body)))}`
}

type Schema = Readonly<Record<string, unknown>>

interface FieldRow {
  name: string
  schema: Schema
  required: boolean
}

function fieldsTable(ask: Ask, caption: string, schema: Schema): SafeHtml {
  const { t } = ask
  return table(
    fieldsOf(schema),
    [
      { title: t('api.name'), kind: 'main', cell: ({ name }) => code(name) },
      { title: t('api.type'), cell: row => typeOf(row.schema) },
      { title: t('api.required'), cell: ({ required }) => t(required ? 'common.yes' : 'common.no') },
      { title: t('api.meaning'), cell: row => textOf(row.schema.description) },
    ],
    { caption, empty: empty(typeOf(schema)) },
  )
}

/** Flattens a schema to a list of fields. Nested fields are named by their path: `cases[].id`. */
function fieldsOf({ properties, required, items, anyOf }: Schema, prefix = ''): FieldRow[] {
  const needed = new Set((required ?? []) as string[])
  return [
    ...Object.entries((properties ?? {}) as Record<string, Schema>).flatMap(([key, schema]) => {
      const name = `${prefix}${key}`
      return [{ name, schema, required: needed.has(key) }, ...fieldsOf(schema, `${name}.`)]
    }),
    ...((anyOf ?? []) as Schema[]).flatMap(option => fieldsOf(option, prefix)),
    ...(items ? fieldsOf(items as Schema, `${prefix.slice(0, -1)}[].`) : []),
  ]
}

function typeOf(schema: Schema): string {
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (options) return [...new Set(options.map(typeOf))].join(' | ')
  if (schema.enum) return (schema.enum as unknown[]).map(String).join(' | ')
  if (schema.const !== undefined) return String(schema.const)
  if (schema.type === 'array') return `${typeOf((schema.items ?? {}) as Schema)}[]`
  const type = [schema.type ?? 'any'].flat().join(' | ')
  return schema.format ? `${type} (${textOf(schema.format)})` : type
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function example({ method, path }: ApiOperation, origin: string, body: Schema | undefined): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${origin}${path}' \\`,
    `  -H "Authorization: Bearer $TOKEN"`,
  ]
  if (!body) return lines.join('\n')
  const required = fieldsOf(body).filter(({ name, required }) => required && !/[.[]/.test(name))
  const values = Object.fromEntries(required.map(({ name, schema }) => [name, typeOf(schema)]))
  return [
    ...lines.slice(0, -1),
    `${lines.at(-1)} -H 'content-type: application/json' \\`,
    `  -d '${JSON.stringify(values)}'`,
  ].join('\n')
}
