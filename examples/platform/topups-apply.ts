import { connect, enterprise_code } from './connect.ts'

/** Apply for a points top-up (4.12). */
await using client = connect()
const [account_openid, external_code, identifier] = process.argv.slice(2)
if (account_openid === undefined || external_code === undefined || identifier === undefined)
  throw new Error('usage: topups-apply.ts ACCOUNT_OPENID EXTERNAL_CODE TAXPAYER_IDENTIFIER')
const amount = '100.00'
const service_provider = 1 // bank transfer
const application = { account_openid, enterprise_code, amount, service_provider, external_code, identifier }
const { apply_charge_openid } = await client.topUps.apply(application)
console.log(apply_charge_openid)
