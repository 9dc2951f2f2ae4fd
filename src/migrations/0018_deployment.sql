-- Which deployment, and so which account of the platform, this database remembers.

create table dirsync.deployment (
  id              uuid not null default gen_random_uuid(),
  name            text,
  base_url        text not null,
  app_id          text not null,
  enterprise_code text not null,
  since           timestamptz not null default now(),
  only_row        boolean primary key default true check (only_row)
);
comment on table dirsync.deployment is
  'One row: whose memory this database is. Written by the first start; dirsync switch-account changes it.';
comment on column dirsync.deployment.id is
  'Made by the first start, and anew when the account is switched. The queue''s name carries it.';
comment on column dirsync.deployment.name is
  'What people call the deployment; null: nothing. dirsync doctor shows it.';
comment on column dirsync.deployment.base_url is
  'Address of the platform, as new URL() writes it, without a slash at its end; '
  'embedded: the emulator of the trial, at whatever port.';
comment on column dirsync.deployment.app_id is
  'Application id. Together with the address it is the account that everything here was learnt of.';
comment on column dirsync.deployment.enterprise_code is
  'PLATFORM_ENTERPRISE_CODE as the last start had it; another one is no other account.';
comment on column dirsync.deployment.since is
  'Since when that account is remembered here: what HR changed before is read in full once more.';
comment on column dirsync.deployment.only_row is 'Always true: there is one row.';

-- Open ids of accounts that are absent by now were kept until today.
delete from dirsync.openid_binding b using dirsync.employee e
where e.enterprise_code = b.enterprise_code and e.userid = b.userid and e.platform_state = 'absent';

comment on table dirsync.openid_binding is
  'Open id of an employee for a merchant application (specification 4.5). '
  'It goes when the platform calls the account absent; one that comes back is bound anew.';
comment on column dirsync.command.name is
  'What was asked for, named as the function or command that does it.';
