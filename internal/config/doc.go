// Package config defines the settings of a crawl and reads their values.
//
// One table ([Table]) defines every setting: its name, flag, default, bounds and
// meaning. Flags, environment variables, headway.yaml, the reference page and `headway
// config` are derived from it, so they cannot disagree. [Load] reads the layers by
// precedence, flags first, then environment, file, preset and default, and records for
// each value who set it.
//
// Promises: an unknown setting is an error that names the nearest one, never ignored;
// an invalid value is an error that names the setting and where it was set; a secret
// is never printed. The package decides nothing about a crawl: combinations of values
// are checked by the packages that use them.
package config
