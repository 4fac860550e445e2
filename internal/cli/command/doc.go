// Package command is what the commands of headway share: failures and exit codes,
// output as text, tables and JSON, the contact and the network client, opt-outs,
// and how the folder of a crawl is found and opened.
package command
