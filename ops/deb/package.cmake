# One Debian package of it all: `cpack -G DEB` in a tree that was configured for /usr. scripts/package.sh does that with
# Debian's flags, and looks at what comes out.

set(SECKILL_MAINTAINER "seckill authors <authors@seckill.invalid>" CACHE STRING "Whom the package names")
set(SECKILL_HOMEPAGE "" CACHE STRING "Where the sources are; package.sh takes the remote that the checkout was cloned from")
set(SECKILL_DEB_RELEASE 1 CACHE STRING "Of the package; 1~deb12 and the like, where it is built for more than one Debian")
set(SECKILL_DEB_VERSION ${PROJECT_VERSION}-${SECKILL_DEB_RELEASE})
string(TIMESTAMP SECKILL_DEB_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)   # SOURCE_DATE_EPOCH, where that is set

file(READ ${PROJECT_SOURCE_DIR}/LICENSE SECKILL_LICENSE)
string(REGEX REPLACE "^.*authors\n\n" "" SECKILL_LICENSE "${SECKILL_LICENSE}")
string(STRIP "${SECKILL_LICENSE}" SECKILL_LICENSE)
string(REPLACE "\n\n" "\n.\n" SECKILL_LICENSE "${SECKILL_LICENSE}")
string(REPLACE "\n" "\n " SECKILL_LICENSE " ${SECKILL_LICENSE}")

# gzip -n: the same file each time.
function(seckill_zipped from name)
  execute_process(COMMAND gzip -9n -c ${from} OUTPUT_FILE ${CMAKE_CURRENT_BINARY_DIR}/${name}.gz COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.gz DESTINATION share/doc/seckill)
endfunction()

if(SECKILL_HOMEPAGE)
  set(SECKILL_SOURCE "\nSource: ${SECKILL_HOMEPAGE}")
endif()
configure_file(deb/copyright.in copyright @ONLY)
configure_file(deb/changelog.in changelog.Debian @ONLY)
seckill_zipped(${CMAKE_CURRENT_BINARY_DIR}/changelog.Debian changelog.Debian)
seckill_zipped(${PROJECT_SOURCE_DIR}/CHANGELOG.md changelog)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/copyright DESTINATION share/doc/seckill)
install(FILES deb/lintian-overrides DESTINATION share/lintian/overrides RENAME seckill)
install(FILES deb/seckill.env DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/seckill PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)   # there are files outside /usr
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME seckill)
set(CPACK_PACKAGE_CONTACT "${SECKILL_MAINTAINER}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
    WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${SECKILL_DEB_RELEASE})
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${SECKILL_HOMEPAGE}")
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "flash-sale order service, and a load test that finds overselling
seckill-server sells limited stock over HTTP to many buyers at once, from
PostgreSQL's rows. How the stock is protected is chosen order by order, from
conditional updates and row locks to locks and queues in Redis, RabbitMQ,
memcached and ZooKeeper.

Not all of them are safe: some are there to show how they oversell, and each
says what it promises. seckill-loadtest measures them side by side, and judges
them, or any other shop, by the books.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS wrk)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "postgresql, redis-server, rabbitmq-server, memcached, zookeeperd, prometheus")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/deb/conffiles ${CMAKE_CURRENT_SOURCE_DIR}/deb/postinst
    ${CMAKE_CURRENT_SOURCE_DIR}/deb/prerm ${CMAKE_CURRENT_SOURCE_DIR}/deb/postrm)
include(CPack)
