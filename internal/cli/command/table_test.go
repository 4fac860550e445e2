package command

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestTable shortens what may be shortened and shows everything when asked to.
func TestTable(t *testing.T) {
	long := strings.Repeat("é", 90)
	tab := NewTable("~HOST", "PACE", "+FLOOR", "~STATE")
	tab.Add(long, "1.00 s", 7, "waiting for nothing at all")
	for wide, want := range map[bool]string{
		false: "HOST" + strings.Repeat(" ", 40) + "  PACE    STATE\n" + long[:2*43] + "…  1.00 s  waiting for nothing at all\n",
		true:  "HOST" + strings.Repeat(" ", 86) + "  PACE    FLOOR  STATE\n" + long + "  1.00 s  7      waiting for nothing at all\n",
	} {
		var b bytes.Buffer
		if err := tab.Print(&b, wide); err != nil {
			t.Fatal(err)
		}
		if b.String() != want {
			t.Errorf("wide %t:\n%s\nwant\n%s", wide, b.String(), want)
		}
	}
	empty := NewTable("", "~")
	empty.Add("key", "value")
	var b bytes.Buffer
	if err := empty.Print(&b, false); err != nil || b.String() != "key  value\n" {
		t.Errorf("without headings: %v, %q", err, b.String())
	}
	if err := empty.Print(io.Discard, true); err != nil {
		t.Error(err)
	}
}
