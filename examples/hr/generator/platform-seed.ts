import type { Unit } from './organisation.ts'
import type { Pair } from './people.ts'

/** The platform before the first sync, in the emulator's seed format. E900 is missing: it is not bound. */
export function platformSeed(units: Unit[], people: Pair[]) {
  return {
    enterprises: [
      {
        enterprise_code: 'E100',
        features: {
          level: true,
          category: true,
          employee_attribute: ['contract_nature', 'taxpayer_ownership'],
        },
      },
      { enterprise_code: 'E200', features: { level: false, category: false, employee_attribute: [] } },
    ],
    departments: units.flatMap(({ code, title, platform }) => {
      if (platform === null) return []
      const { enterprise, parent, base } = platform
      return [
        {
          enterprise_code: enterprise,
          dept_code: code,
          dept_name: title,
          ...(parent && { parent_code: parent }),
          ...(base && { base }),
        },
      ]
    }),
    employees: people.flatMap(pair => pair.platform ?? []),
  }
}
