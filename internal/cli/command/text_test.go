package command

import "testing"

// TestOneLine keeps outside text from moving the cursor or forging lines.
func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                    "plain",
		"two\nlines\r\n":           "two lines",
		"\x1b[31mred\x1b[0m":       "[31mred [0m",
		"c1 \u009b31m, sep\u2028x": "c1  31m, sep x",
		"ünïcode 漢字":               "ünïcode 漢字",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
