package source

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/internal/httpx"
)

// NoteUnselectable adds a note about a listed version of a provider if no constraint
// selects the version. That is 0.0.0, which the CLI takes for "no version".
func NoteUnselectable(notes *httpx.Notes, v addrs.Version) {
	if v.String() == "0.0.0" {
		notes.Addf(`version 0.0.0 is listed, which no constraint selects: the CLI takes it for "no version"`)
	}
}
