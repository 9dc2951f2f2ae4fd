import { z } from 'zod'
import type { Operation } from '../platform/operation.ts'
import { message } from '../texts/message.ts'
import { UsageError } from './failure.ts'
import { shellLanguage } from './language.ts'
import { factLines, textLines } from './output.ts'
import { type GivenRequest, parseJson, readRequestFile } from './request.ts'

/** The fields of an operation as flags of `dirsync platform`: their help, and their parsing. */

/**
 * The meaning of fields, with an example if it helps; `operation field` if a name means something else in one
 * operation.
 */
const MEANINGS: Record<string, string> = {
  account_openid: 'points or limit account, as dirsync accounts shows it',
  amount: 'amount to apply for, such as 5000.00',
  applicant_name: 'who applies',
  birth_day: 'date of birth, such as 1990-05-17 or 05-17',
  card_no: 'document number',
  card_type: '1 identity card, 2 passport',
  category: 'employee categories',
  code: 'work number',
  contain_fee_trade: '1 with service-fee records, 2 without (default)',
  cost_center_id: 'cost center, a number',
  costAmount: 'settlement price, such as 10.00',
  deliveryFee: 'shipping fee, where the settlement price is without it',
  dept_code: 'department code',
  email: 'e-mail address',
  'enterprise/account/applyCharge email': 'e-mail address to tell when the amount has arrived',
  employee_attribute: 'JSON list of {"attributeCode": "…", "attributeValue": "…"}',
  enterprise_code: 'enterprise (default PLATFORM_ENTERPRISE_CODE); needed in a group',
  entry_day: 'date of entry, such as 2024-03-01',
  external_code: 'external business number; starts with the application id',
  gender: '1 male, 2 female, 3 unknown',
  identifier: 'taxpayer identification number',
  invoice_extr_remark: 'supplementary note about the invoice',
  invoice_remark: 'remark printed on the invoice',
  level: 'employee grade',
  mobile: 'phone number',
  'enterprise/account/applyCharge mobile': 'mainland number to tell when the amount has arrived',
  mobile_area: 'area code of the phone number (default 86)',
  name: 'name of the employee',
  new_corp_code: 'new work number, letters and digits',
  notifyUrl: 'address to be notified when the refund completes',
  outer_trade_no: 'external trade number; starts with the application id',
  outerRefundNo: 'external refund number; starts with the application id',
  outerTradeNo: 'external trade number of the order; starts with the application id',
  page_index: 'page, from 1 (default)',
  page_no: 'page, from 1 (default)',
  page_size: 'rows of a page, at most 100 (default 20)',
  'taxpayer/findList page_size': 'rows of a page, at most 100 (default 50)',
  reason: 'why it is refunded',
  refundAmount: 'amount to refund, such as 12.50',
  remark: 'note',
  seller_appid: 'application id of the merchant, of at most 8 characters',
  service_provider: 'payment method: 0 default provider, 1 bank transfer',
  taxpayer: 'name of the taxpayer',
  taxpayer_name: 'name of the taxpayer',
  taxpayer_nature: '1 general, 2 small-scale (default)',
  third_type: 'kind of integration, from 1 to 5 (default 5, standard)',
  time_end: 'last day, such as 2026-11-21',
  time_start: 'first day, such as 2026-11-01',
  trade_no: 'number of the payment order',
  tradeInfo: 'order information: a JSON object, see below',
  userid: 'user id of the employee, such as e10172',
}

/** Rules that involve several fields. */
const RULES: Record<string, string> = {
  'employee/get': 'Give at least one of userid, mobile and email.',
  'employee/update': 'The value #default# clears birth_day, entry_day, level or category.',
  'enterprise/account/applyCharge': 'Give taxpayer, identifier or both.',
  'seller/v3/pay/syncRefund':
    'In price-difference mode, give costAmount or tradeInfo. In tradeInfo, isThirdOrders 1 needs thirdOrders, 2 needs goodsDetail.',
}

/** A field of an operation's request. */
interface OperationField {
  name: string
  required: boolean
  meaning: string
  /** For a field that takes JSON text: the fields of the object, or of the objects in the list. */
  object: z.ZodObject | null
}

/** The fields of an operation's request, required ones first. */
export function fieldsOf(operation: Operation): OperationField[] {
  const fields = Object.entries(operation.request.shape).map(([name, schema]) => ({
    name,
    required: !schema.safeParse(undefined).success,
    meaning: MEANINGS[`${operation.name} ${name}`] ?? MEANINGS[name] ?? '',
    object: objectIn(schema),
  }))
  return [...fields.filter(field => field.required), ...fields.filter(field => !field.required)]
}

function objectIn(schema: unknown): z.ZodObject | null {
  if (schema instanceof z.ZodOptional) return objectIn(schema.unwrap())
  if (schema instanceof z.ZodArray) return objectIn(schema.element)
  return schema instanceof z.ZodObject ? schema : null
}

/** What the help of an operation says below its fields. */
export function remarksOn({ name, idempotent }: Operation): string[] {
  return [...(RULES[name] ? [RULES[name]] : []), ...(idempotent ? [] : [MOVES_MONEY])]
}

const MOVES_MONEY =
  'It moves money. It asks on a terminal and needs --yes elsewhere; it is sent once, and dirsync never sends the same number again.'

/** The lines of the help of an operation. */
export async function operationHelp(operation: Operation): Promise<string[]> {
  const inWords = shellLanguage() === 'en' ? (text: string) => text : (await import('./help.ts')).chinese
  const fields = fieldsOf(operation)
  return [
    `${inWords('Usage:')} dirsync platform ${operation.name} [--field value …] [--json]`,
    '',
    ...(fields.length === 0 ? [inWords('It takes no fields.')] : []),
    ...factLines(
      fields.map(({ name, required, meaning }) => [
        `--${name}`,
        (required ? inWords('required; ') : '') + inWords(meaning),
      ]),
    ),
    ...fields.flatMap(({ name, object }) => (object ? namesIn(name, object) : [])),
    ...remarksOn(operation).flatMap(remark => ['', ...textLines(inWords(remark), 0)]),
  ]
}

/** The names within an object, and within nested objects. */
function namesIn(path: string, object: z.ZodObject): string[] {
  const nested = Object.entries(object.shape).flatMap(([name, schema]) => {
    const inner = objectIn(schema)
    return inner ? namesIn(`${path}.${name}`, inner) : []
  })
  return ['', `${path}:`, ...textLines(Object.keys(object.shape).join(', ')), ...nested]
}

/**
 * Parses `--field value` and `--field=value`. `--json` alone asks for a document; with a file name (- for standard
 * input) it names the request, whose fields the flags override.
 * @throws UsageError
 */
export async function readRequestFlags(operation: Operation, args: string[]): Promise<GivenRequest> {
  const fields = fieldsOf(operation)
  const flags = new Set(['--json', '--yes', ...fields.map(({ name }) => `--${name}`)])
  const isFlag = (text = '') => flags.has(text.replace(/=.*/s, ''))
  const given: Record<string, unknown> = {}
  let json = false
  let yes = false
  let file: string | undefined
  const rest = [...args]
  for (let flag = rest.shift(); flag !== undefined; flag = rest.shift()) {
    const [, name = '', attached] = /^--([^=]+)(?:=(.*))?$/s.exec(flag) ?? []
    if (name === 'json') {
      const named = attached ?? (rest[0]?.startsWith('--') === false ? rest.shift() : undefined)
      if (named === undefined) json = true
      else if (file !== undefined) throw new UsageError(message('said.two_requests'))
      else file = named
      continue
    }
    if (!operation.idempotent && flag === '--yes') {
      yes = true
      continue
    }
    const field = fields.find(known => known.name === name)
    if (!field) {
      const unknown = { text: JSON.stringify(flag), operation: operation.name }
      throw new UsageError(
        fields.length === 0
          ? message('said.takes_no_fields', unknown)
          : message('said.not_a_field', { ...unknown, names: fields.map(known => `--${known.name}`) }),
      )
    }
    if (Object.hasOwn(given, name)) throw new UsageError(message('said.given_twice', { name: `--${name}` }))
    const value = attached ?? (isFlag(rest[0]) ? undefined : rest.shift())
    if (value === undefined) throw new UsageError(message('said.needs_a_value', { name: `--${name}` }))
    given[name] = field.object ? parseJson(value, `--${name}`) : value
  }
  const request = { ...(file === undefined ? {} : await readRequestFile(file)), ...given }
  return { request, json, yes, flagOf: name => `--${name}` }
}
