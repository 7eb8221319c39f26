package auth

import "github.com/tofureg/tofureg/disco/svchost"

// Complaint lets a test see what becomes of a helper's error output.
func Complaint(stderr string, cut bool, token Token, answer string) string {
	return complaint([]byte(stderr), cut, token, []byte(answer))
}

// ReadAnswer lets a fuzz test read what a helper answers without one.
func ReadAnswer(text []byte) (Token, error) { return parseAnswer(text) }

// ReadCredentials and EditCredentials let a fuzz test work without files.
func ReadCredentials(text []byte, host svchost.Hostname) (Token, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return Token{}, err
	}
	return doc.token(host)
}

// EditCredentials saves token, or forgets host if it is zero.
func EditCredentials(text []byte, host svchost.Hostname, token Token) ([]byte, error) {
	doc, err := parseDocument(text)
	if err != nil {
		return nil, err
	}
	if token.IsZero() {
		doc.forget(host)
	} else {
		doc.save(host, token)
	}
	return doc.text(), nil
}
