// Package config says what can be set for a crawl, and finds out what was.
//
// One table ([Table]) is the home of every setting: its name, flag, default,
// bounds and meaning. Flags, the environment, headway.yaml, the reference page
// and `headway config` are made from it, so they cannot disagree. [Load] asks
// the layers in the order of their strength, flags first, then environment,
// file, preset and default, and remembers for each value who set it.
//
// Promises: a name that is no setting is an error that names the nearest one,
// never ignored; a bad value is an error that names the setting and where it
// was set; a secret is never printed. The package decides nothing about a
// crawl: what values mean together is checked by those who use them.
package config
