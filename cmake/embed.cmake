# cmake -DFROM=file -DTO=dir -DNAME=symbol -P embed.cmake: a file as C, so that an installed harness needs
# no files beside it.
file(READ ${FROM} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR length "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "((0x..,){16})" "\\1\n    " bytes "${bytes}")
file(WRITE ${TO}/${NAME}.h
  "#include <stddef.h>\n\nextern const unsigned char ${NAME}[];\nextern const size_t ${NAME}_length;\n")
file(WRITE ${TO}/${NAME}.c
  "#include \"${NAME}.h\"\n\nconst unsigned char ${NAME}[] = {\n    ${bytes}\n};\nconst size_t ${NAME}_length = ${length};\n")
