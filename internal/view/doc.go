// Package view shows a crawl to a person: the live view in a terminal, single lines
// without one, and the summary at the end.
//
// It reads [headway.Crawl.Progress] and the [headway.Report]. [Render], [Line] and
// [Summary] are pure: plain data in, text out, so that every screen can be tested.
// [Screen] is the thin part that owns a terminal.
//
// Numbers add up: the shown shares of host time are 100 %, and the URLs seen are the
// sum of their outcomes. A remaining time is called an estimate and says what it is
// based on. The package decides nothing about the crawl; it only passes on Ctrl-C.
package view
