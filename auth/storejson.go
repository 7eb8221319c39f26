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

// parseCredentials reads the JSON object in which a helper's answer and the credentials
// file hold the token of one host. null, {} and a token that is null or empty all mean
// that there is no token.
func parseCredentials(text []byte) (Token, error) {
	secret, err := secretIn(text)
	if err != nil || secret == "" {
		return Token{}, err
	}
	return NewToken(secret)
}

// secretIn returns the member "token" of a JSON object, valid or not, or "". Errors of
// encoding/json can quote the input, so they are not passed on.
func secretIn(text []byte) (secret string, err error) {
	var members map[string]json.RawMessage // a struct would also accept "Token"
	if json.Unmarshal(text, &members) != nil {
		return "", errNotObject
	}
	if value, ok := members["token"]; ok && json.Unmarshal(value, &secret) != nil {
		return "", errTokenString
	}
	return secret, nil
}

// credentials returns the JSON object with a token.
func credentials(token Token) []byte {
	text := encode(map[string]string{"token": token.Reveal()}, "")
	return bytes.TrimSuffix(text, []byte("\n"))
}

// encode returns a value in JSON, followed by a line break, without escapes for HTML: a
// shell script may read it. The value must be valid.
func encode(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	_ = e.Encode(v)
	return b.Bytes()
}
