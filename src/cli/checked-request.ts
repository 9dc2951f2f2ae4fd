import type { Config } from '../config.ts'
import type { Operation } from '../platform/operation.ts'
import { checkedParameters } from '../platform/parameters.ts'

/**
 * Checks a request before anybody is asked about it.
 * @throws PlatformError of kind `invalid_request`
 */
export async function checkedRequest(operation: Operation, request: object, config: Config): Promise<void> {
  checkedParameters(operation, request, {
    appId: config.PLATFORM_APP_ID,
    priceDifferenceMode: config.REFUND_PRICE_DIFFERENCE,
  })
}
