#!/usr/bin/env python3
"""What a compiler says about a folder of CUDA headers: facts.py [--prototypes | --names] CLANG FOLDER

Without an option: a C program that prints every size, alignment, offset, enumerator and constant, by the names found in
FOLDER. --prototypes: all functions, redeclared. --names: just the names.
SPDX-License-Identifier: Apache-2.0
"""
import json
import re
import subprocess
import sys

HEADERS = ['cuda_runtime_api.h', 'cuda_profiler_api.h', 'vector_types.h', 'library_types.h']
# The driver API's, of which ours has what is carried out: no --names.
DRIVER_HEADERS = ['cuda.h', 'cudaProfiler.h']


OPTIONS = []


def includes():
    headers = HEADERS if '--names' in OPTIONS else HEADERS + DRIVER_HEADERS
    return ''.join(f'#include <{h}>\n' for h in headers)


def clang(command, folder, *options):
    return subprocess.run([command, '-x', 'c', '-w', '-I', folder, *options, '-'], input=includes(),
                          capture_output=True, text=True, check=True).stdout


def read(command, folder):
    """Top-level declarations, and macros, of the headers."""
    tree = json.loads(clang(command, folder, '-fsyntax-only', '-Xclang', '-ast-dump=json'))
    macros = {}
    for line in clang(command, folder, '-dM', '-E').splitlines():
        m = re.match(r'#define (cuda\w+|CUDA\w*_SIZE|CUDART_VERSION|CUDA_VERSION|CU_\w+) (.+)', line)
        # Only constants: the macros that rename attributes are covered by what they rename.
        if m and re.fullmatch(r'[0-9a-fA-FxuUlL()\-+ ]+|\(\(\w+\).*\)', m[2]):
            macros[m[1]] = m[2]
    return tree['inner'], macros


def is_ours(name):
    return name and re.match(r'(cuda|CU|u?(char|short|int|long|longlong)\d|float\d|double\d|dim3|library)', name)


def walk(record, path, out):
    """Paths of all members, through unnamed and nested records."""
    nested = [n for n in record.get('inner', []) if n['kind'] == 'RecordDecl']
    position = 0
    for field in record.get('inner', []):
        if field['kind'] != 'FieldDecl':
            continue
        unnamed = 'unnamed' in field['type']['qualType'] or 'anonymous' in field['type']['qualType']
        name = field.get('name')
        if unnamed and position < len(nested):
            inner, position = nested[position], position + 1
            walk(inner, path + ([name] if name else []), out)
        if name and not field.get('isBitfield'):
            out.append('.'.join(path + [name]))


def facts(nodes, macros):
    print(includes() + '#include <stddef.h>\n#include <stdio.h>\nint main(void)\n{')
    seen = set()
    for n in nodes:
        name = n.get('name')
        if not is_ours(name) or (n['kind'], name) in seen:
            continue
        if n['kind'] == 'RecordDecl' and n.get('completeDefinition'):
            seen.add((n['kind'], name))
            tag = f"{n['tagUsed']} {name}"
            print(f'    printf("{tag} %zu %zu\\n", sizeof({tag}), _Alignof({tag}));')
            members = []
            walk(n, [], members)
            for m in members:
                print(f'    printf("{name}.{m} %zu %zu\\n", offsetof({tag}, {m}), sizeof((({tag} *)0)->{m}));')
        elif n['kind'] == 'EnumDecl':
            for e in n.get('inner', []):
                if e['kind'] == 'EnumConstantDecl':
                    print(f'    printf("{e["name"]} %lld\\n", (long long){e["name"]});')
        elif n['kind'] == 'TypedefDecl' and '(' not in n['type']['qualType']:
            print(f'    printf("{name} %zu\\n", sizeof({name}));')
    for m in sorted(macros):
        print(f'    printf("{m} %lld\\n", (long long){m});')
    print('    return 0;\n}')


def functions(nodes):
    return [n for n in nodes if n['kind'] == 'FunctionDecl' and re.match('cuda|cu[A-Z]', n['name'])]


def prototypes(nodes):
    print(includes())
    for n in functions(nodes):
        kind = n['type']['qualType']
        at = kind.index('(')
        print(f"extern {kind[:at].strip()} {n['name']}{kind[at:]};")


def names(nodes, macros):
    out = set(macros)
    for n in nodes:
        name = n.get('name')
        if is_ours(name) and n['kind'] in ('RecordDecl', 'EnumDecl', 'TypedefDecl', 'FunctionDecl'):
            out.add(name)
        if n['kind'] == 'EnumDecl':
            out.update(e['name'] for e in n.get('inner', []) if e['kind'] == 'EnumConstantDecl')
    print('\n'.join(sorted(out)))


def main():
    option = sys.argv.pop(1) if sys.argv[1].startswith('--') else None
    if option:
        OPTIONS.append(option)
    nodes, macros = read(sys.argv[1], sys.argv[2])
    if option == '--prototypes':
        prototypes(nodes)
    elif option == '--names':
        names(nodes, macros)
    else:
        facts(nodes, macros)


main()
