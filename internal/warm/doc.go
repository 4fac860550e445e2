// Package warm reads what a crawl found out about the caches in front of a site:
// which pages they had, which the origin had to make, and which they never keep.
//
// A warmer asks for every page once and then, for what a cache had not and may
// keep, once more. [Read] counts the pages of a crawl by what the caches said of
// the latest answer; [Cold] lists what is worth asking again. Between the two
// passes a [State] lies in the folder of the crawl, so that a process that goes
// on knows what another one found.
//
// It promises that every page fetched is counted under exactly one verdict, and
// that nothing that a cache never keeps is listed as cold. It asks no host for
// anything.
package warm
