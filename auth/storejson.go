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

// parseCredentials reads the JSON object with a token, in the answer of a helper or in the
// credentials file. null, {} and a null or empty token mean no token.
func parseCredentials(text []byte) (Token, error) {
	secret, err := secretIn(text)
	if err != nil || secret == "" {
		return Token{}, err
	}
	return NewToken(secret)
}

// secretIn returns the member "token" of a JSON object, also if it is an invalid token, or
// "". It does not return errors of encoding/json, which can contain the input.
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

// encode returns a value in JSON and a line break. It does not escape for HTML, because
// shell scripts read the result. It must not be called with invalid values.
func encode(v any, indent string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	_ = e.Encode(v)
	return b.Bytes()
}
