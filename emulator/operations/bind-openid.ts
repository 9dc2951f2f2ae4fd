import { integer, text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

/** Bind and query employee open id (specification 4.5), for an employee in service. */
export const bindOpenId = defineOperation({
  name: 'employee/openid',
  encoding: 'form',
  takesToken: true,
  parameters: object =>
    object({
      userid: text(1, 100),
      enterprise_code: text(1, 20).default(''),
      seller_appid: text(1, 8),
      third_type: integer(1, 5).optional(),
    }),
  perform(platform, { enterprise_code, userid, seller_appid }) {
    platform.enterprises.require(enterprise_code)
    platform.employees.require(enterprise_code, userid)
    const open_userid = platform.openids.bind(enterprise_code, userid, seller_appid)
    return { data: { userid, open_userid, seller_appid } }
  },
})
