package store

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"

	"monolith"
)

// sealer encrypts passwords before they reach the database. The key stays outside of it, so that a
// copy or a dump of the store gives no password away.
type sealer struct {
	aead cipher.AEAD
	path string
}

// errNoKey is given when a password is to be kept and there is no place for its key.
func errNoKey() error {
	return monolith.Invalid("password", "a password can't be kept without a key file", "start with a data folder, where the key file is made")
}

// seal encrypts text for one place. What was sealed for another place does not open there.
func (s *sealer) seal(text monolith.Secret, place string) ([]byte, error) {
	if s == nil {
		return nil, errNoKey()
	}
	nonce := make([]byte, s.aead.NonceSize(), s.aead.NonceSize()+len(text)+s.aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, fmt.Errorf("store: seal: %w", err)
	}
	return s.aead.Seal(nonce, nonce, []byte(text.Reveal()), []byte(place)), nil
}

// open decrypts what seal made for the same place.
func (s *sealer) open(sealed []byte, place string) (monolith.Secret, error) {
	if s == nil {
		return "", errNoKey()
	}
	if len(sealed) < s.aead.NonceSize() {
		return "", fmt.Errorf("store: open the sealed %s: too short", place)
	}
	n := s.aead.NonceSize()
	text, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(place))
	if err != nil {
		return "", &KeyError{Path: s.path, Why: "it does not open the " + place + " of this store",
			Cure: "put back the key file that belongs to the store, or enter the password again"}
	}
	return monolith.Secret(text), nil
}

const (
	sealCheck = "seal check" // the setting that tells whether key and store belong together
	sealWord  = "monolith"
)

// openSealer reads the key file, or makes it for a store that has sealed nothing yet.
func (db *DB) openSealer(ctx context.Context, path string) error {
	if path == "" {
		if db.dialect.name != "sqlite" {
			return nil
		}
		path = filepath.Join(filepath.Dir(db.place), "monolith.key")
	}
	check, err := db.Setting(ctx, sealCheck)
	fresh := errors.Is(err, monolith.ErrNotFound)
	if err != nil && !fresh {
		return err
	}
	key, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !fresh {
			return &KeyError{Path: path, Why: "it is missing, and passwords in the store are sealed with it",
				Cure: "put back the key file from the backup; the store can't be read without it"}
		}
		key, err = makeKey(path)
	}
	if err != nil {
		return err
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return fmt.Errorf("store: key file: %w", err)
	}
	db.seals = &sealer{aead, path}
	if fresh {
		sealed, err := db.seals.seal(sealWord, sealCheck)
		if err != nil {
			return err
		}
		return db.SetSetting(ctx, sealCheck, base64.StdEncoding.EncodeToString(sealed))
	}
	sealed, err := base64.StdEncoding.DecodeString(check)
	if err == nil {
		_, err = db.seals.open(sealed, sealCheck)
	}
	if err != nil {
		return &KeyError{Path: path, Why: "it does not belong to this store",
			Cure: "put back the key file that was beside the store; without it the passwords can't be opened"}
	}
	return nil
}

func readKey(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("store: key file: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 && filepath.Separator == '/' {
		return nil, &KeyError{Path: path, Why: fmt.Sprintf("others may read it (mode %04o)", st.Mode().Perm()), Cure: "chmod 600 " + path}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("store: key file: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != chacha20poly1305.KeySize {
		return nil, &KeyError{Path: path, Why: "it does not hold a key", Cure: "put back the key file that belongs to the store"}
	}
	return key, nil
}

// makeKey writes a new key, complete and on disk before the name appears.
func makeKey(path string) ([]byte, error) {
	key := make([]byte, chacha20poly1305.KeySize)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("store: key file: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".monolith-key-*") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("store: key file: %w", err)
	}
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, fmt.Errorf("store: key file: %w", errors.Join(err, os.Remove(f.Name())))
	}
	// A link fails where a rename would replace a key that another process made meanwhile.
	if err := os.Link(f.Name(), path); err != nil {
		return nil, fmt.Errorf("store: key file: %w", errors.Join(err, os.Remove(f.Name())))
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, fmt.Errorf("store: key file: %w", err)
	}
	return key, nil
}
