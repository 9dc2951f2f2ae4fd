import type { OperationName } from '../../src/platform/operations/index.ts'
import { APP_ID } from './contract-under-test.ts'

/** A platform on which every request of {@link validRequest} succeeds. */

export const TRADE_NO = '2026112100000001'
export const OUTER_TRADE_NO = `${APP_ID}-order-0001`

const CLOSED_DEPARTMENTS = 600

export const DIRECTORY = {
  enterprises: [
    { enterprise_code: 'OFF', features: { level: false, category: false, employee_attribute: [] } },
  ],
  departments: [
    { dept_code: 'base-department', dept_name: 'Base', base: true },
    ...Array.from({ length: CLOSED_DEPARTMENTS }, (_, index) => ({
      dept_code: `closed-department-${index + 1}`,
      dept_name: 'Closed',
      parent_code: 'base-department',
    })),
    { enterprise_code: 'OFF', dept_code: 'elsewhere-department', dept_name: 'Elsewhere' },
  ],
  employees: [
    {
      userid: 'employee-one',
      corp_code: 'WORK0001',
      email: 'one@example.com',
      mobile: '13800000001',
      card_type: 1,
      card_no: '11010519491231002X',
      dept_code: 'base-department',
    },
    { userid: 'employee-two', corp_code: 'WORK0002', email: 'two@example.com', mobile: '13800000002' },
    { userid: 'employee-gone', in_service: false },
    { enterprise_code: 'OFF', userid: 'employee-off' },
  ],
  orders: [{ trade_no: TRADE_NO, out_trade_no: OUTER_TRADE_NO, total_amount: '99999999.99' }],
  accounts: [{ account_openid: 'account-openid-0001', name: 'Points', balance: '100.10' }],
  taxpayers: [{ identifier: '91310000MA1FL00001', taxpayer_name: 'Example Ltd' }],
}

export const OPERATION_NAMES = [
  'token/create',
  'token/getTokenInfo',
  'employee/update',
  'employee/get',
  'employee/openid',
  'department/delete',
  'enterprise/consume/list',
  'enterprise/consume/get',
  'assets/limit/enterprise/get',
  'seller/v3/pay/syncRefund',
  'seller/pay/record',
  'enterprise/account/applyCharge',
  'taxpayer/findList',
] as const satisfies OperationName[]

/** The operations that must not be repeated. */
export const ONCE_ONLY: readonly OperationName[] = [
  'seller/v3/pay/syncRefund',
  'enterprise/account/applyCharge',
]

let count = 0

/** A request that the platform would carry out; the numbers in it are new each time. */
export function validRequest(operation: OperationName): Record<string, unknown> {
  count += 1
  switch (operation) {
    case 'token/create':
    case 'token/getTokenInfo':
      return {}
    case 'employee/update':
      return { userid: 'employee-one', remark: `note of number ${count}` }
    case 'employee/get':
      return { userid: 'employee-one', mobile: '13800000001', email: 'one@example.com' }
    case 'employee/openid':
      return { userid: 'employee-one', seller_appid: 'seller01' }
    case 'department/delete':
      return { dept_code: `closed-department-${count}` }
    case 'enterprise/consume/list':
      return { time_start: '2026-11-01', time_end: '2099-12-31', contain_fee_trade: 1, page_size: 100 }
    case 'enterprise/consume/get':
      return { trade_no: TRADE_NO }
    case 'assets/limit/enterprise/get':
      return { account_openid: 'account-openid-0001' }
    case 'seller/v3/pay/syncRefund':
      return {
        outerTradeNo: OUTER_TRADE_NO,
        outerRefundNo: `${APP_ID}-refund-${count}`,
        reason: 'sent back by its buyer',
        refundAmount: '12.30',
      }
    case 'seller/pay/record':
      return { outer_trade_no: OUTER_TRADE_NO }
    case 'enterprise/account/applyCharge':
      return {
        account_openid: 'account-openid-0001',
        amount: '1000.00',
        service_provider: 1,
        external_code: `${APP_ID}-application-of-number-${String(count).padStart(8, '0')}`,
        identifier: '91310000MA1FL00001',
        applicant_name: 'Applicant One',
      }
    case 'taxpayer/findList':
      return { identifier: '91310000MA1FL00001', taxpayer_name: 'Example Ltd' }
  }
}
