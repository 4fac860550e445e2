-- +goose Up

-- Where the events of a tenant are told. A secret signs what is sent, so it is
-- kept as it is; the one before it signs, too, until old_ends.
create table endpoint (
    id          text primary key,
    tenant      text not null,
    url         text not null,
    kinds       text[] not null,
    secret      bytea not null,
    old_secret  bytea not null,
    old_ends    bigint not null,
    after       bigint not null,
    created_at  bigint not null,
    disabled_at bigint,
    disabled    text not null
);

create index endpoint_tenant on endpoint (tenant, id);

-- How far somebody who makes something of events has come. It moves with what
-- was made of them, in one transaction.
create table follower (
    name  text primary key,
    after bigint not null
);
