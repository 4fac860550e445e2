// Package crawl has the commands that send the requests of a crawl: crawl, check,
// warm and plan. A worker of a fleet shares their [Setup].
package crawl
