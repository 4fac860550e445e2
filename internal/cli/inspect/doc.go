// Package inspect has the commands that answer questions about a crawl, a host or a
// URL (why, slow, hosts, urls, courtesy, compare, runs, robots, url, fetch), and those
// that control what is there already (host, stop, optout, rm, config).
package inspect
