import { integer, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Taxpayer list query (specification 4.13): of one identifier and, when it is given, one name. */
export const listTaxpayers = defineOperation({
  name: 'taxpayer/findList',
  encoding: 'form',
  takesToken: true,
  parameters: object =>
    object({
      enterprise_code: text(1, 20).default(''),
      identifier: text(1, 45),
      taxpayer_name: text(1, 100).optional(),
      taxpayer_nature: integer(1, 2).default(2),
      page_no: integer(1, 2_147_483_647).default(1),
      page_size: integer(1, 100).default(50),
    }),
  perform(platform, query) {
    const { enterprise_code: enterpriseCode, identifier, page_no, page_size } = query
    platform.enterprises.require(enterpriseCode)
    const filter = {
      enterpriseCode,
      identifier,
      name: query.taxpayer_name,
      nature: query.taxpayer_nature,
    }
    const { total, taxpayers } = platform.taxpayers.page(filter, page_no, page_size)
    const data_list = taxpayers.map(({ taxpayer_name, identifier, taxpayer_nature, status }) => ({
      taxpayer_name,
      identifier,
      taxpayer_nature,
      status,
    }))
    return { data: { total_count: total, has_next: page_no * page_size < total, data_list } }
  },
})
