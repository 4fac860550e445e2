-- +goose Up

-- Until when the time of a tenant with a rate was given to workers, by this server's
-- clock, and how long the last stretch of it is. A tenant that has never had a rate has
-- no row.
create table stretch (
    tenant text primary key,
    until  timestamptz not null,
    lasts  interval not null
) with (fillfactor = 50);
