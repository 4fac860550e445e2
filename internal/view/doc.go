// Package view is what a person at a terminal sees of a crawl: the live view
// while it runs, one line at a time where there is no terminal, and the summary
// at its end.
//
// It sits at the far end of the journey and reads what [headway.Crawl.Progress]
// and the [headway.Report] say. [Render], [Line] and [Summary] are pure: plain
// data in, text out, so that every screen can be looked at in a test. [Screen]
// is the thin part that owns a terminal.
//
// Numbers add up: the shares of host time that are shown are 100 %, and what is
// seen is the sum of its outcomes. A remaining time is called a guess and says
// what it is guessed from. The package decides nothing about the crawl; all it
// may do is pass on that a person pressed Ctrl-C.
package view
