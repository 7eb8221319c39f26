package auth

import (
	"bytes"
	"encoding/json"
	"errors"
)

var (
	errNotObject   = errors.New("not a JSON object")
	errTokenString = errors.New("the token is not a string")
)

// parseCredentials reads the JSON object in which a helper's answer and the
// credentials file hold the token of one host. Other members are for programs
// to come. null, {} and a token that is null or empty all mean that there is
// none. What encoding/json says of a mistake may quote the input, so it is not
// passed on.
func parseCredentials(text []byte) (Token, error) {
	// A map and not a struct, because the name is exactly "token", in lower
	// case.
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return Token{}, errNotObject
	}
	var secret *string
	if value, ok := members["token"]; ok && json.Unmarshal(value, &secret) != nil {
		return Token{}, errTokenString
	}
	if secret == nil || *secret == "" {
		return Token{}, nil
	}
	return NewToken(*secret)
}

// quote returns s as a JSON string.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // what reads it may be a shell script
	_ = e.Encode(s)        // cannot fail for a string
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
