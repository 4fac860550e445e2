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

// TestPrintable keeps lines, and drops what a terminal would interpret.
func TestPrintable(t *testing.T) {
	const in, want = "# A\n\n\tcode \x1b[31mred\u009b0m\r\n\x00漢字\n", "# A\n\n\tcode [31mred0m\n漢字\n"
	if got := Printable(in); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
