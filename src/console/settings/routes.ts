import { z } from 'zod'
import { latestExamination } from '../../doctor/examination.ts'
import { describeSettings } from '../../doctor/settings.ts'
import { descriptionsIn } from '../../texts/beside.ts'
import type { Ask } from '../ask.ts'
import { action, type Endpoint, type Page, plainText, read } from '../endpoint.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { Doctor } from './doctor.ts'
import { DoctorResult, SettingsResult } from './query.ts'
import { doctorBody, settingsBody } from './view.ts'

export const screen: Screen = { name: 'settings', role: 'admin', endpoints: settings }

/** The settings of this process, and whether everything that they name exists and works. */
function settings(services: Services): Endpoint[] {
  const doctor = new Doctor(services)
  const doctorPage = (ask: Ask, result: DoctorResult): Page => ({
    title: ask.t('settings.doctor'),
    body: doctorBody(ask, result),
  })
  return [
    read({
      path: '/settings',
      role: 'admin',
      summary: 'Every setting as this process has it, without secrets',
      query: z.object({ q: plainText(100).default('').describe('A part of the name, meaning or value') }),
      result: SettingsResult,
      async run(ask, { input }) {
        const describe = await descriptionsIn(ask.language)
        return {
          settings: describeSettings(services.env, services.config)
            .map(({ isSet, ...setting }) => ({ ...setting, is_set: isSet }))
            .filter(({ name, meaning, value, group }) =>
              [name, meaning, describe(meaning), value ?? '', group].some(text =>
                text.toLowerCase().includes(input.q.toLowerCase()),
              ),
            ),
        }
      },
      page: async (ask, result, { input }) => ({
        title: ask.t('settings.title'),
        body: settingsBody(ask, await descriptionsIn(ask.language), result, input.q),
      }),
    }),
    read({
      path: '/doctor',
      tag: 'settings',
      role: 'admin',
      summary: 'The latest findings of the doctor in the console',
      result: DoctorResult,
      run: async () => ({ examination: await latestExamination(services.pool) }),
      page: doctorPage,
    }),
    action({
      path: '/doctor',
      tag: 'settings',
      role: 'admin',
      summary: 'Run the checks of `dirsync doctor`; takes up to 30 s',
      looks: 'doctor',
      result: DoctorResult,
      run: async ask => ({ examination: await doctor.run(ask.asker.actor) }),
      page: doctorPage,
    }),
  ]
}
