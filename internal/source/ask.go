package source

import (
	"github.com/tofureg/tofureg/addrs"
	"github.com/tofureg/tofureg/failure"
	"github.com/tofureg/tofureg/internal/httpx"
)

// Listed returns text, which a server lists for v, if it is not the canonical form.
func Listed(v addrs.Version, text string) string {
	if text == v.String() {
		return ""
	}
	return text
}

// Ask has ask get what a server has of v: by the canonical form, which is all that the CLI
// ever asks for. If the server refuses that, see [httpx.Refusal], explain finds the reason,
// and the text that the server lists for v if it is another one. Ask tries the listed text,
// too, and returns the reason if the server refuses both.
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
	var none T
	return none, refused.Because(reason)
}
