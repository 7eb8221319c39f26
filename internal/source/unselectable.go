package source

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/httpx"
)

// NoteUnselectable adds a warning about the provider version 0.0.0, which no constraint selects.
func NoteUnselectable(notes *httpx.Notes, v addrs.Version) {
	if v.String() == "0.0.0" {
		notes.Addf(`no constraint selects the listed version 0.0.0: the CLI interprets it as "no version"`)
	}
}
