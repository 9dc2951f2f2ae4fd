import { z } from 'zod'
import { CheckResult } from '../../doctor/finding.ts'

/** The answer of `/api/v1/settings`. */
export const SettingsResult = z.object({
  settings: z.array(
    z.object({
      name: z.string(),
      group: z.string(),
      meaning: z.string(),
      secret: z.boolean().describe('Its value is never shown; `is_set` says whether there is one'),
      value: z.string().nullable().describe('As text; an address without its password and parameters'),
      is_set: z.boolean(),
      default: z.string().nullable().describe('The value that applies if it is not set; null: none'),
      source: z.enum(['environment', 'file', 'default', 'embedded', 'none']),
      file: z.string().nullable().describe('The file, if the value comes from one (NAME_FILE)'),
      line: z
        .string()
        .describe('For settings.env: the value as it is, or an example of one that is not set or is secret'),
    }),
  ),
})
export type SettingsResult = z.infer<typeof SettingsResult>
export type SettingResult = SettingsResult['settings'][number]

const ExaminationResult = z.object({
  at: z.date(),
  by: z.string(),
  complete: z.boolean().describe('false: stopped after 30 s'),
  findings: z.array(CheckResult),
})

/** The answer of `/api/v1/doctor`. */
export const DoctorResult = z.object({
  examination: ExaminationResult.nullable().describe('null: not run yet'),
})
export type DoctorResult = z.infer<typeof DoctorResult>
