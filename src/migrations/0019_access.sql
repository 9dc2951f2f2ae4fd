-- Letting colleagues in from the browser: links that sign in as a user, what a token is limited to, and the first steps
-- of a deployment.

-- One-time links that sign in as a user, made by an administrator. Not in sign_in_key: a process of an earlier version
-- would take any key there for one of local, an admin.
create table dirsync.sign_in_link (
  hash       bytea primary key,                      -- SHA-256 of the link's key.
  -- Whom it signs in.
  user_name  text not null references dirsync.console_user (name) on delete cascade,
  created_by text not null default dirsync.actor(),  -- Who made it.
  created_at timestamptz not null default now(),     -- When it was made.
  expires_at timestamptz not null,                   -- Until when it is good.
  -- When it was used; null: not yet. One that is voided has ended: expires_at says when.
  used_at    timestamptz
);
create index sign_in_link_user on dirsync.sign_in_link (user_name);

comment on column dirsync.console_user.source is
  'How they sign in. password: with the one kept here. oidc: at the identity provider. key: with one-time keys '
  '(local), or with a one-time link, until they choose a password.';

alter table dirsync.console_user add column provider text, add column rebinds_until timestamptz,
  add column no_role_since timestamptz;
comment on column dirsync.console_user.provider is
  'oidc: OIDC_ISSUER at their last sign-in, which the issuer may not be letter by letter; null: an earlier version admitted them.';
comment on column dirsync.console_user.rebinds_until is
  'Until when a sign-in at the identity provider with this name makes its subject that of this user, once; null: none does.';
comment on column dirsync.console_user.no_role_since is
  'oidc: since when the identity provider has given them no role; null: it gave the one in role at the last sign-in. They cannot sign in.';

alter table dirsync.api_token add column scopes text[];
comment on column dirsync.api_token.scopes is
  'What the token is limited to, beside its role: read, names of screens, or such a name with :read. null: to nothing. '
  'A process of an earlier version does not take such tokens at all.';

-- The latest findings of the doctor in the console: one row.
create table dirsync.examination (
  single   boolean primary key default true check (single),  -- true: there is one row.
  at       timestamptz not null,                             -- When it ended.
  by       text not null,                                    -- Who wanted it.
  complete boolean not null,                                 -- false: it was stopped after 30 s.
  findings jsonb not null                                    -- Check, status, message and remedy of each.
);

-- The first steps on the overview are over: one row then.
create table dirsync.setup (
  single   boolean primary key default true check (single),  -- true: there is one row.
  ended_at timestamptz not null default now(),               -- Since when they are no longer shown.
  -- Who put them away; null: all were done, or a deployment of an earlier version had synced before.
  ended_by text
);
insert into dirsync.setup (single)
select true where exists (select from dirsync.sync_run where kind in ('full', 'changes') and state = 'done');

alter table dirsync.process add column console_url text;
comment on column dirsync.process.console_url is
  'Where its console listens, for links that the shell prints; null: it has none, or is of an earlier version.';
