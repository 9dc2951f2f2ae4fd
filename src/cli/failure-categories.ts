import { PLATFORM_CODES } from '../platform/codes.ts'

/** Categories that a dead letter may have: those of the platform's answers, and what dirsync finds itself. */
export const FAILURE_CATEGORIES: readonly string[] = [
  ...Object.values(PLATFORM_CODES)
    .filter(({ disposition }) => disposition === 'park')
    .map(({ category }) => category),
  ...[
    'invalid_hr_row',
    'left_hr',
    'not_applied',
    'unknown_payer',
    'platform_unavailable',
    'unclassified',
    'internal_error',
  ],
]
