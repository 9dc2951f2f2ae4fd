/** Texts of the screen of refunds and top-ups. */
export const money = {
  'money.title': 'Money',
  'money.all_known': 'The outcome of every refund and top-up is known. There is nothing to do.',
  'money.all_accepted':
    'No outcome is unknown. {count, plural, one {# refund is} other {# refunds are}} accepted by the platform and not shown as completed yet; nothing to do for a day.',
  'money.overdue':
    '{count, plural, one {Refund {latest} was accepted by the platform more than a day ago, and nothing shows that it is completed.} other {# refunds were accepted by the platform more than a day ago, and nothing shows that they are completed; the latest is {latest}.}}',
  'money.overdue_asked':
    'For a week, and unless calls are paused or halted, a worker asks the order record twice a day; `dirsync refund settle {number}` asks now.',
  'money.overdue_unasked':
    'A week after it was sent, the order record is asked no more; `dirsync refund settle {number}` asks it.',
  'money.overdue_todo':
    'If it does not show the refund, look order {of} up in the platform’s back office, or ask its support, and record the answer (`dirsync refund resolve {number}`): the platform sends nothing for a refund that fails. NOTIFICATION_URL or MIRRORS=orders shows completed refunds sooner.',
  'money.refunds': 'Refunds',
  'money.topups': 'Top-ups',
  'money.restored':
    'The database was restored or taken over by a replica, as was noticed at {time}: refunds and top-ups sent between the backup and then may be missing here.',
  'money.restored_todo': 'Check with the vendor before you send any of them again. This is said for 30 days.',
  'money.unknown.refunds':
    '{count, plural, one {# refund was} other {# refunds were}} sent without a known outcome.',
  'money.unknown_todo.refunds':
    'Unless calls are paused or halted, a running worker checks the order record. Where that cannot tell, ask the platform’s support and record the answer. Do not send a refund again by hand.',
  'money.unknown.topups':
    '{count, plural, one {# top-up was} other {# top-ups were}} sent without a known outcome.',
  'money.unknown_todo.topups':
    'The platform offers no query for top-ups. Ask its support, then record the answer. Do not send a top-up again by hand.',
  'money.waiting.refunds':
    '{count, plural, one {# refund of unknown outcome is} other {# refunds of unknown outcome are}} waiting for a decision.',
  'money.waiting_todo':
    'The page of each says what to do: ask the platform’s support and record the answer, or end the process that sends it and hangs. Do not send it again by hand.',
  'money.show_them': 'Show them',
  'money.misfits':
    '{count, plural, one {The platform has notified dirsync of refund {latest} with another order or amount than dirsync sent.} other {The platform has notified dirsync of # refunds with another order or amount than dirsync sent; the latest is {latest}.}}',
  'money.unmatched':
    '{count, plural, one {The platform has notified dirsync of refund {numbers}, which dirsync does not know.} other {The platform has notified dirsync of refunds that dirsync does not know, the latest first: {numbers}.}}',
  'money.misfit': 'notified with another order or amount',
  'money.show_it': 'Show it',
  'money.state': 'State',
  'money.points': '{amount} {count, plural, one {point} other {points}}',
  'money.quota': '{amount} of quota',
  'money.third': '{amount} of third-party assets',
  'money.completed': 'Completed',
  'money.only_overdue': 'not shown a day later',
  'money.number': 'Number',
  'money.number_or_target': 'Number, order or account',
  'money.order': 'Order',
  'money.account': 'Account',
  'money.amount': 'Amount',
  'money.sent': 'Sent',
  'money.known_since': 'Known since',
  'money.by': 'By',
  'money.for_person': 'waiting for a decision',
  'money.none.refunds': 'dirsync has sent no refund yet.',
  'money.none_todo.refunds': 'Send one with `dirsync refund send`.',
  'money.none.topups': 'dirsync has sent no top-up yet.',
  'money.none_todo.topups': 'Send one with `dirsync topup send`.',
  'money.no_match': 'Nothing matches these filters.',
  'money.no_match.remedy': 'Clear them, or enter the whole number.',
  'money.no_match.numberless': 'Clear them, or enter a number: none is given.',
  'money.refund': 'Refund {number}',
  'money.topup': 'Top-up {number}',
  'money.settle': 'Check the order record now',
  'money.resolve': 'Record the outcome',
  'money.resolve_as': 'What the platform’s support said',
  'money.resolve_hint':
    'Nothing is sent again, and this cannot be undone. Record only what the platform’s support or back office told you.',
  'money.choose': 'Choose …',
  'money.as_accepted': 'It was carried out',
  'money.as_rejected': 'It was not carried out',
  'money.reason_hint': 'How you know: who told you, and when. It is recorded in the audit with your name.',
  'money.settled': 'The outcome of the refund is known.',
  'money.still_open':
    'The outcome of the refund is still unknown. “What happened” shows each check of its order record.',
  'money.still_unshown':
    'The platform has accepted the refund, and nothing shows yet that it is completed. “What happened” has what the order record shows.',
  'money.still_doubted':
    'The refund may still have been carried out after all. “What happened” has what the order record shows. If the mirror has the order, that decides at its next reading.',
  'money.resolved': 'The outcome was recorded. Nothing was sent.',
  'money.being_sent': '{number} is being sent right now. Look again in a minute.',
  'money.known': 'The outcome of {number} is already known: {state}, {when}.',
  'money.known_by': '{who} has already recorded the outcome of {number}: {state}, {when}.',
  'money.requested': 'It is being sent.',
  'money.requested.remedy.refund':
    'The answer arrives within a minute. If the sending process died, a running worker looks for the outcome in the order record.',
  'money.requested.remedy.topup':
    'The answer arrives within a minute. If the sending process died, the outcome becomes unknown, and a person has to ask the platform’s support.',
  'money.hangs': 'its sender hangs',
  'money.sender_hangs': 'Its sender has hung for more than five minutes: it may have been carried out.',
  'money.hanging.refunds':
    '{count, plural, one {The sender of # refund has hung} other {The senders of # refunds have hung}} for more than five minutes: each may have been carried out.',
  'money.hanging.topups':
    '{count, plural, one {The sender of # top-up has hung} other {The senders of # top-ups have hung}} for more than five minutes: each may have been carried out.',
  'money.sender_hangs.remedy.refund':
    'End the process that sends it, or its container, even if it is stopped or paused: “What happened” says who sent it. Then a running worker looks for the outcome in the order record. Until then no other refund of the order is sent.',
  'money.sender_hangs.remedy.topup':
    'End the process that sends it, or its container, even if it is stopped or paused: “What happened” says who sent it. Then the outcome is unknown, and a person has to ask the platform’s support.',
  'money.is_unknown': 'It was sent, but its outcome is unknown.',
  'money.code_unlisted':
    'The platform answered with code {code}, which its interface does not list as a refusal: it does not tell whether money moved.',
  'money.person.refund':
    'The order record cannot tell. Send the text below to the platform’s support, then record their answer.',
  'money.person.topup':
    'The platform offers no query for top-ups. Send the text below to its support, then record their answer.',
  'money.admin_only': 'This needs an administrator.',
  'money.what': 'What was sent',
  'money.refunded_before': 'Refunded before',
  'money.not_said': 'not known for certain',
  'money.trade_no': 'Payment order',
  'money.receipt': 'Application',
  'money.enterprise': 'Enterprise',
  'money.asked': 'Order record',
  'money.asked_times': 'asked {count, plural, one {once} other {# times}}',
  'money.held': 'when calls are no longer paused',
  'money.held_todo':
    'All calls are paused, so the order record is not asked: `dirsync resume` lets it be asked. Do not send a refund again by hand.',
  'money.asked_next': 'Asked next',
  'money.after_all': 'was recorded as not carried out',
  'money.perhaps': 'may have been carried out after all',
  'money.was_accepted': 'was recorded as carried out',
  'money.called_refused': 'Recorded as not carried out until',
  'money.notification': 'Notification',
  'money.although_open': 'Sent despite open',
  'money.said': 'What is known',
  'money.unshown': 'not shown as completed yet',
  'money.is_completed': 'completed',
  'money.completed_notified': 'It is completed: the platform has notified of it.',
  'money.completed_shown': 'It is completed: the order record or the mirror shows it.',
  'money.accepted_unshown':
    'The platform accepted it. It is completed only once a notification, the order record or the mirror shows it.',
  'money.nothing_said': 'The platform accepted it.',
  'money.resolved_by': 'Recorded by',
  'money.platform_code': 'Platform code',
  'money.message': 'Outcome',
  'money.remedy': 'What to do',
  'money.trace_id': 'Trace id',
  'money.story': 'What happened',
  'money.event.sent': 'sent',
  'money.event.call_failed': 'outcome left unknown by the call',
  'money.event.checked': 'order record checked{count, plural, one {} other { # times}}',
  'money.earlier_checks':
    '{count, plural, one {# earlier check} other {# earlier checks}} of the order record {count, plural, one {is} other {are}} not shown.',
  'money.last_check': 'with the same result, last',
  'money.event.accepted': 'accepted by the platform',
  'money.event.shown': 'shown as refunded by the order record or the mirror',
  'money.event.settled': 'outcome became known',
  'money.event.called_refused': 'recorded as not carried out',
  'money.event.after_all': 'turned out to be carried out',
  'money.event.shown_otherwise':
    'more is shown refunded of the order than dirsync’s other refunds make: it may have been carried out after all, unless others have refunded the order',
  'money.event.refused_after_all': 'refused by the platform, though recorded as carried out',
  'money.event.notified': 'notification received from the platform',
  'money.event.misfit': 'notification with another order or amount received from the platform',
  'money.event.resolved': 'outcome recorded by a person',
  'money.for_vendor': 'For the platform’s support',
  'money.vendor.refund': 'Please tell us whether this refund was carried out:',
  'money.vendor.topup': 'Please tell us whether this top-up was carried out:',
} as const
