import { beforeEach, describe, expect, test } from 'vitest'
import { CIRCUMSTANCES, entryOfCode, PLATFORM_CODES } from '../../src/platform/codes.ts'
import {
  dispositionOf,
  OutcomeUnknownError,
  PlatformError,
  type PlatformFailure,
  parameterProblem,
} from '../../src/platform/errors.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { message } from '../../src/texts/message.ts'

const REFUND = 'seller/v3/pay/syncRefund'

/** Section 7 of the specification, but for 0. */
const SPECIFIED = [
  1000210001, 1000210003, 1000210004, 1000220002, 1000220096, 1000220102, 1002219003, 1000220010, 1002218004,
  1002218007, 1002219046, 1000220030, 1000210028, 1000220072, 1000240002, 1002219069, 1002200106, 1002212002,
  1000220120, 1000220064,
]

/** The design's failure table: code, disposition, category, field. */
const TABLE = [
  [1000210001, 'retry', 'clock_skew'],
  [1000210003, 'halt', 'credentials'],
  [1000210004, 'refresh-token', 'token'],
  [1000220002, 'park', 'invalid_parameter'],
  [1000220096, 'park', 'not_on_platform'],
  [1000220102, 'park', 'not_on_platform'],
  [1002219003, 'park', 'duplicate_work_number', 'corp_code'],
  [1002218004, 'park', 'duplicate_email', 'email'],
  [1002218007, 'park', 'duplicate_mobile', 'mobile'],
  [1000220010, 'park', 'missing_department', 'dept_code'],
  [1002219046, 'park', 'invalid_document', 'card_no'],
  [1002219069, 'park', 'invalid_mobile_area', 'mobile'],
  [1000220030, 'park', 'feature_disabled', 'level'],
  [1000210028, 'park', 'feature_disabled', 'category'],
  [1000220072, 'park', 'feature_disabled', 'employee_attribute'],
  [1000240002, 'halt', 'enterprise_code'],
  [1002200106, 'park', 'no_permission'],
  [1002212002, 'park', 'base_department'],
] as const

function failure(facts: Partial<PlatformFailure>): PlatformFailure {
  return { kind: 'business', operation: 'employee/update', outcomeKnown: true, ...facts }
}

function verdict(facts: Partial<PlatformFailure>) {
  const error = new PlatformError(failure(facts))
  return dispositionOf(error, error.operation)
}

test('every code of the specification is in the catalogue, and no other', () => {
  expect(Object.keys(PLATFORM_CODES).map(Number).toSorted()).toEqual(SPECIFIED.toSorted())
})

test.each(TABLE)('%i asks for %s as %s', (code, disposition, category, field?: string) => {
  expect(entryOfCode(code)).toMatchObject({ disposition, category })
  expect(entryOfCode(code)?.field).toBe(field)
})

test('every entry says what happened and what to do, in sentences', () => {
  for (const entry of Object.values(PLATFORM_CODES)) {
    expect(entry.meaning).toMatch(/^[A-Z].*\.$/)
    expect(entry.remedy).toMatch(/^[A-Z].*\.$/)
  }
})

describe('verdicts', () => {
  test('a duplicate mobile holds back the mobile, on an update only', () => {
    const facts = { platformCode: 1002218007 }
    expect(verdict(facts)).toMatchObject({
      disposition: 'park',
      field: 'mobile',
      category: 'duplicate_mobile',
    })
    expect(verdict({ ...facts, operation: 'employee/get' })).not.toHaveProperty('field')
  })

  test('an employee whom the platform lacks awaits activation', () => {
    for (const platformCode of [1000220096, 1000220102]) {
      expect(verdict({ platformCode })).toMatchObject({ disposition: 'park', state: 'awaiting_activation' })
    }
  })

  test('a department that does not exist is deleted already', () => {
    const deleted = verdict({ platformCode: 1000220010, operation: 'department/delete' })
    expect(deleted).toMatchObject({ disposition: 'done', remedy: expect.stringMatching(/^Nothing to do: /) })
    expect(inLanguage('en', deleted.said.remedy)).toBe(deleted.remedy)
    expect(verdict({ platformCode: 1000220010 }).disposition).toBe('park')
  })

  test('problems that the client has already tried to fix: a clock halts, a token is retried later', () => {
    expect(verdict({ platformCode: 1000210001 })).toMatchObject({ disposition: 'halt', scope: 'all' })
    expect(verdict({ platformCode: 1000210004 }).disposition).toBe('retry')
  })

  test('wrong credentials halt everything, a wrong enterprise code its enterprise', () => {
    expect(verdict({ platformCode: 1000210003 })).toMatchObject({ disposition: 'halt', scope: 'all' })
    expect(verdict({ platformCode: 1000240002 })).toMatchObject({ disposition: 'halt', scope: 'enterprise' })
  })

  test('an unknown code is retried once', () => {
    expect(verdict({ platformCode: 42 })).toMatchObject({
      disposition: 'retry',
      category: 'unclassified',
      attempts: 1,
    })
  })

  test.each([
    ['timeout', {}],
    ['connection', {}],
    ['malformed', { httpStatus: 200 }],
    ['http', { httpStatus: 500 }],
    ['http', { httpStatus: 503 }],
  ] as const)('%s %o is retried with the usual number of attempts', (kind, facts) => {
    const { disposition, category, attempts } = verdict({ kind, ...facts })
    expect({ disposition, category, attempts }).toEqual({
      disposition: 'retry',
      category: 'platform_unavailable',
      attempts: undefined,
    })
  })

  test.each([429, 503])('HTTP %i with an advice waits as long as it says', httpStatus => {
    expect(verdict({ kind: 'http', httpStatus, retryAfterMs: 7000 })).toMatchObject({
      disposition: 'wait',
      retryAfterMs: 7000,
    })
  })

  test('another HTTP status is unclassified', () => {
    expect(verdict({ kind: 'http', httpStatus: 404 })).toMatchObject({
      category: 'unclassified',
      attempts: 1,
    })
  })

  test('a request that was not sent is parked, for its field if it is one unit', () => {
    const problem = (field: string) =>
      parameterProblem(field, message('said.must_have_at_most', { limit: 20 }))
    const parked = (...fields: string[]) =>
      verdict({ kind: 'invalid_request', problems: fields.map(problem) })
    expect(parked('code')).toMatchObject({ disposition: 'park', field: 'corp_code' })
    expect(parked('new_corp_code')).toMatchObject({ disposition: 'park', field: 'corp_code' })
    expect(parked('mobile', 'mobile_area')).toMatchObject({ category: 'invalid_parameter', field: 'mobile' })
    expect(parked('name', 'mobile')).not.toHaveProperty('field')
    expect(parked('userid')).not.toHaveProperty('field')
  })

  test('a blown fuse halts until the hour is over', () => {
    expect(verdict({ kind: 'token_fuse', retryAfterMs: 60_000 })).toMatchObject({
      disposition: 'halt',
      retryAfterMs: 60_000,
    })
  })

  test('an answer that asks to wait waits, whatever its code', () => {
    expect(verdict({ platformCode: 42, retryAfterMs: 7000 })).toMatchObject({
      disposition: 'wait',
      category: 'rate_limited',
      retryAfterMs: 7000,
    })
  })

  test('an unknown outcome stays one for an operation that needed the call', () => {
    const lost = new OutcomeUnknownError(new PlatformError(failure({ kind: 'timeout', operation: REFUND })))
    for (const operation of [REFUND, 'employee/get'])
      expect(dispositionOf(lost, operation)).toMatchObject({
        disposition: 'park',
        category: 'outcome_unknown',
      })
  })

  test('an error of our own is tried again, and says no more than applies', () => {
    expect(dispositionOf(new Error('x'), 'employee/get')).toStrictEqual({
      disposition: 'retry',
      category: 'internal_error',
      meaning: expect.any(String),
      remedy: expect.any(String),
      said: {
        meaning: { key: 'circumstance.internal.meaning' },
        remedy: { key: 'circumstance.internal.remedy' },
      },
    })
  })

  test.each([1000220002, 1000220010, 1002200106, 1002212002])(
    'what %i asks of a department is nothing about an employee, in every language',
    platformCode => {
      const { remedy } = verdict({ platformCode, operation: 'department/delete' }).said
      expect(inLanguage('en', remedy)).not.toMatch(/employee/)
      expect(inLanguage('zh-CN', remedy)).not.toContain('员工')
    },
  )

  test.each(['employee/get', 'assets/limit/enterprise/get'] as const)(
    'what is to be done about an enterprise code names each place that gives one to %s, in every language',
    operation => {
      const { remedy } = verdict({ platformCode: 1000240002, operation }).said
      for (const text of [inLanguage('en', remedy), inLanguage('zh-CN', remedy)])
        expect(text).toMatch(/PLATFORM_ENTERPRISE_CODE(?=.*enterprise_codes)(?=.*HR_SOURCES)/)
    },
  )

  test('the remedy of a value is in HR where it came from there, and says so in every language', () => {
    const refused = { platformCode: 1000220002 }
    const { remedy, remedyBesideHr } = PLATFORM_CODES[1000220002]
    expect(verdict(refused)).toMatchObject({
      remedy,
      said: { meaning: { key: 'code.1000220002.meaning' }, remedy: { key: 'code.1000220002.remedy' } },
    })
    expect(verdict({ ...refused, operation: REFUND })).toMatchObject({
      remedy: remedyBesideHr,
      said: { remedy: { key: 'code.1000220002.remedy_beside_hr' } },
    })
    // Nobody else sends a refund again.
    expect(verdict({ kind: 'aborted' }).remedy).toContain('dirsync takes it up again by itself')
    expect(verdict({ kind: 'aborted', operation: REFUND }).remedy).toContain('Ask for it again')
    const unreachable = { kind: 'timeout', operation: REFUND } as const
    expect(verdict(unreachable)).toMatchObject({
      remedy: CIRCUMSTANCES.unavailable.remedy,
      said: { remedy: { key: 'circumstance.unavailable.remedy' } },
    })
  })
})

describe('the error', () => {
  let error: PlatformError
  beforeEach(() => {
    error = new PlatformError(
      failure({
        platformCode: 1002218007,
        platformMessage: 'mobile 123456 already exists',
        httpStatus: 200,
        traceId: 'T1',
      }),
    )
  })

  test('keeps the facts', () => {
    expect(error).toMatchObject({
      name: 'PlatformError',
      code: 'PLATFORM_BUSINESS',
      kind: 'business',
      operation: 'employee/update',
      platformCode: 1002218007,
      httpStatus: 200,
      traceId: 'T1',
      outcomeKnown: true,
      disposition: 'park',
    })
    expect(error.platformMessage).toBe('mobile 123456 already exists')
  })

  test('carries its verdict, which differs for an operation that needed the call', () => {
    expect(error.verdict).toMatchObject({
      disposition: 'park',
      category: 'duplicate_mobile',
      field: 'mobile',
    })
    expect(dispositionOf(error, error.operation)).toBe(error.verdict)
    expect(dispositionOf(error, 'employee/get')).not.toHaveProperty('field')
  })

  test("does not show the platform's own words by accident", () => {
    expect(error.message).toMatch(/^employee\/update failed \(business, code 1002218007, trace T1\): /)
    expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('123456')
    expect(error.maskedMessage).toBe('mobile 12*** already exists')
    expect(new PlatformError(failure({ kind: 'timeout' }))).not.toHaveProperty('maskedMessage')
  })

  test.each<[Partial<PlatformFailure>, string]>([
    [{ kind: 'timeout' }, 'timeout'],
    [{ kind: 'http', httpStatus: 503 }, 'http, HTTP 503'],
    [{ kind: 'malformed', httpStatus: 200, traceId: 'T1' }, 'malformed, trace T1'],
    [{ platformCode: 42, httpStatus: 400, traceId: 'T1' }, 'business, code 42, HTTP 400, trace T1'],
  ])('of %j names the facts in brackets, for readers of every language', (facts, named) => {
    const { message, said, verdict } = new PlatformError(failure(facts))
    expect(message).toBe(`employee/update failed (${named}): ${verdict.meaning} ${verdict.remedy}`)
    expect(said).toEqual({
      key: 'said.call_failed',
      values: { operation: 'employee/update', facts: named, ...verdict.said },
    })
    expect(inLanguage('en', said)).toBe(message)
  })

  test('about a request that was not sent names what is wrong with it', () => {
    const problems = [
      parameterProblem('mobile', message('said.is_required')),
      parameterProblem('', message('said.needs_one_of', { names: ['a', 'b'] })),
    ]
    const { message: words, said, code } = new PlatformError(failure({ kind: 'invalid_request', problems }))
    expect(code).toBe('PLATFORM_INVALID_REQUEST')
    expect(words).toMatch(
      /^employee\/update was not sent \(mobile is required; needs at least one of a, b\): /,
    )
    expect(inLanguage('en', said)).toBe(words)
    expect(inLanguage('zh-CN', said)).toContain('（mobile 为必填项；至少需要以下之一：a、b）')
  })

  test('has a cause only where it was given one', () => {
    const cause = new Error('socket hang up')
    expect(new PlatformError(failure({ kind: 'connection' }), cause).cause).toBe(cause)
    expect(error).not.toHaveProperty('cause')
  })
})
