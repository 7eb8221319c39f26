package source

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
)

// Listed returns text, the listed text of v, or "" if it is canonical.
func Listed(v addrs.Version, text string) string {
	if text == v.String() {
		return ""
	}
	return text
}

// Ask requests v from a server by its canonical text, as the CLI does. If the server refuses it,
// see [httpx.Refusal], explain returns the reason and the listed text of v, if it is not
// canonical. Ask then requests the listed text. If the server refuses that too, it returns the
// reason.
func Ask[T any](v addrs.Version, ask func(text string) (T, error), explain func(*failure.RequestError) (listed string, reason error)) (T, error) {
	got, err := ask(v.String())
	refused := httpx.Refusal(err)
	if refused == nil {
		return got, err
	}
	listed, reason := explain(refused)
	if listed != "" {
		if got, err := ask(listed); httpx.Refusal(err) == nil {
			return got, err
		}
	}
	var zero T
	return zero, refused.Because(reason)
}
