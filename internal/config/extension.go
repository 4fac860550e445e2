package config

import (
	"slices"

	"github.com/spf13/pflag"

	"headway/limit"
)

// ofExtension reports whether a setting is a limit that an existing job can be given.
func ofExtension(s *Setting) bool { return slices.Contains(limit.Extendable, limit.Name(s.Key)) }

// RegisterExtension adds the flags of the limits that an existing job can be given, and
// those that say where the fleet is.
func RegisterExtension(fs *pflag.FlagSet) {
	register(fs, func(s *Setting) bool { return ofExtension(s) || isClient(s) })
}

// Extension is the limits whose [RegisterExtension] flags were given, durations in
// nanoseconds.
func Extension(flags *pflag.FlagSet) (to map[limit.Name]int64, err error) {
	var s Settings
	to = map[limit.Name]int64{}
	flags.Visit(func(f *pflag.Flag) {
		v, ok := f.Value.(*flagValue)
		if !ok || !ofExtension(v.setting) || err != nil {
			return
		}
		if bad := v.setting.at(&s).set(v.given); bad != nil {
			err = v.setting.refuse("--"+f.Name, bad)
		}
		n := limit.Name(v.setting.Key)
		to[n] = s.Limits.Of(n)
	})
	return to, err
}
